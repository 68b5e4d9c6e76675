/** What keeps a file from being read as a report. The message is for the auditor. */
export class ReportUnreadable extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'ReportUnreadable'
  }
}
