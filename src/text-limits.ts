/** Largest lengths of strings in requests. Folding and comparing longer search strings would block the event loop. */

/** Largest length of a search string, in characters: in query parameters, request bodies, tools and the explorer. */
export const SEARCH_MAX = 100
/** Largest length of a release id, in characters. Ids are only compared, never searched with. */
export const RELEASE_ID_MAX = 200
