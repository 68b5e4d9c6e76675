"""Client of sus-data: exact, pinned, verifiable answers about Brazil's public health system.

``connect`` a server, take its ``release`` and ask that: every answer is then of the same immutable data, today and in ten years.
"""

from .answers import Answer, Comparison, Contribution, Rows
from .client import Release, SusData, connect
from .problems import NotWhole, Problem
from .reports import Report, Verdict, read_report
from .verification import verify_release

__all__ = [
    "Answer",
    "Comparison",
    "Contribution",
    "NotWhole",
    "Problem",
    "Release",
    "Report",
    "Rows",
    "SusData",
    "Verdict",
    "connect",
    "read_report",
    "verify_release",
]
__version__ = "0.1.0"
