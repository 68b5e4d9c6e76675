/**
 * Fragment of a regular expression for suffixes that browsers and file managers add to a repeated file name:
 * ` (1)`, ` - Copy`, ` - Cópia (2)`.
 */
export const COPY_MARK = '(?:(?: ?\\(\\d{1,3}\\)| - (?:copy|c.{1,2}pia)))*'
