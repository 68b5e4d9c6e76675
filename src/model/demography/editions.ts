/** Editions of DATASUS's population by age: each computes all years anew, so years of two editions are never combined. */

/** Largest distance in days between files of one edition. */
export const EDITION_DAYS = 31
