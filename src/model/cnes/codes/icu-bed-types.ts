/**
 * Which bed types are intensive care, and whose. Source: the names of the bed types themselves, in DATASUS's domain table and in
 * SIGTAP's tb_tipo_leito: what is called UTI (unidade de terapia intensiva), the two types of the COVID years included.
 * Intermediate care (64, 65, 92 to 95), isolation (66) and ventilatory support (96) are no intensive care. Adult and
 * paediatric type I (74, 77) are beds of months up to 2019, when Portaria SAES/MS 298/2019 made them intermediate care.
 */
const ADULT = ['51', '74', '75', '76'] as const
const NEONATAL = ['80', '81', '82'] as const
const PEDIATRIC = ['52', '77', '78', '79'] as const
/** Of burns and of the heart: the names do not say of what age. */
const OF_ANY_AGE = ['83', '85', '86'] as const

export const ICU_BED_TYPES = {
  all: [...ADULT, ...PEDIATRIC, ...NEONATAL, ...OF_ANY_AGE].sort(),
  adult: ADULT,
  neonatal: NEONATAL,
  pediatric: PEDIATRIC,
} as const satisfies Record<string, readonly string[]>

/**
 * Categories of beds that TabNet calls "leitos de internação": all of the domain table but 3, the complementary ones, which
 * are intensive and intermediate care.
 */
export const INPATIENT_CATEGORIES = ['1', '2', '4', '5', '6', '7'] as const
