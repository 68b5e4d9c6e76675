/** The current month as YYYYMM, in UTC. */
export const thisMonth = (): number => new Date().getUTCFullYear() * 100 + new Date().getUTCMonth() + 1
