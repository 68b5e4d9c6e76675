/**
 * What browsers and file managers put between the name and the ending of a file that is there already: ` (1)`, ` - Copy`,
 * ` - Cópia (2)`. A part of a pattern.
 */
export const COPY_MARK = '(?:(?: ?\\(\\d{1,3}\\)| - (?:copy|c.{1,2}pia)))*'
