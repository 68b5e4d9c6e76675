"""Holds descriptions of releases against the official shapes of DCAT-AP 3.

    pip install pyshacl
    git clone --depth 1 https://github.com/SEMICeu/DCAT-AP
    python tools/validators/dcat_ap.py DCAT-AP/releases/3.0.0/shacl/dcat-ap-SHACL.ttl metadata.jsonld ...

The files are answers of GET /v1/releases/{id}/metadata.jsonld. Ends with 1 where a shape is broken in a way that is not listed below.
"""

import sys

import pyshacl
from rdflib import Graph, Namespace

SH = Namespace("http://www.w3.org/ns/shacl#")
CLASS = "ClassConstraintComponent"
# Constraint and property of each finding that is no error, with its reason.
EXPECTED = {
    (CLASS, "accessURL"): "every address is a resource; the document does not state that type of it",
    (CLASS, "downloadURL"): "every address is a resource; the document does not state that type of it",
    (CLASS, "algorithm"): "the SPDX vocabulary, which is not in the document, defines the algorithm",
    (CLASS, "conformsTo"): "Croissant wants its version as a text in this property",
    ("NodeKindConstraintComponent", "conformsTo"): "Croissant wants its version as a text in this property",
}


def name_of(iri):
    return str(iri).rsplit("#", 1)[-1].rsplit("/", 1)[-1]


shapes, *files = sys.argv[1:]
unexpected = 0
for file in files:
    graph = Graph().parse(file, format="json-ld")
    _, report, _ = pyshacl.validate(graph, shacl_graph=Graph().parse(shapes, format="turtle"))
    found = {}
    for result in report.objects(None, SH.result):
        finding = tuple(
            name_of(report.value(result, part)) for part in (SH.sourceConstraintComponent, SH.resultPath)
        )
        found.setdefault(finding, []).append(str(report.value(result, SH.resultMessage)))
    for finding, messages in sorted(found.items()):
        reason = EXPECTED.get(finding)
        unexpected += reason is None
        print(f"{file}: {finding[1]}: {len(messages)} x {messages[0]} [{reason or 'UNEXPECTED'}]")
print("conforms but for what is expected" if unexpected == 0 else f"{unexpected} unexpected")
sys.exit(unexpected > 0)
