/** A file cannot be read as a report. The message addresses the auditor. */
export class ReportUnreadable extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'ReportUnreadable'
  }
}
