/** How long a text may be that rows or names are searched with: past it, folding and comparing hold the event loop. Values only. */

/** Characters of a text to search with, on every way in: parameters of the address, values of a body, tools, the explorer. */
export const SEARCH_MAX = 100
/** Characters of the id of a release, which is compared and never searched with. */
export const RELEASE_ID_MAX = 200
