/** Closed lists of the facility registry, whose values the specification fixes (2.2). */
export const MANAGEMENT_TYPES = ['M', 'E', 'D', 'S'] as const
export const TP_SUS_CODES = ['1', '2', '0', '9'] as const
export const CHARACTERISTIC_CODES = ['1', '2', '3'] as const
/** In order of precedence: an offering's record shows the first kind that any of its declarations has. */
export const PROVIDER_KINDS = ['CNES', 'CNPJ', 'NOT_INFORMED', 'NOT_APPLICABLE', 'OTHER_SENTINEL'] as const
export const FACILITY_STATUSES = ['active', 'inactive', 'all'] as const
