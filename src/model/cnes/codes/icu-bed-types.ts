/**
 * Bed types of intensive care by age. Source: the names of the bed types in DATASUS's domain table and in SIGTAP's
 * tb_tipo_leito. A type is included when its name says UTI (unidade de terapia intensiva), also two types of the COVID
 * years. Intermediate care (64, 65, 92 to 95), isolation (66) and ventilatory support (96) are not intensive care. Adult and
 * paediatric type I (74, 77) are in months up to 2019, when Portaria SAES/MS 298/2019 made them intermediate care.
 */
const ADULT = ['51', '74', '75', '76'] as const
const NEONATAL = ['80', '81', '82'] as const
const PEDIATRIC = ['52', '77', '78', '79'] as const
/** Burns and coronary units, whose names state no age. */
const OF_ANY_AGE = ['83', '85', '86'] as const

export const ICU_BED_TYPES = {
  all: [...ADULT, ...PEDIATRIC, ...NEONATAL, ...OF_ANY_AGE].sort(),
  adult: ADULT,
  neonatal: NEONATAL,
  pediatric: PEDIATRIC,
} as const satisfies Record<string, readonly string[]>

/** Bed categories that TabNet calls "leitos de internação": all but 3, complementary (intensive and intermediate care). */
export const INPATIENT_CATEGORIES = ['1', '2', '4', '5', '6', '7'] as const
