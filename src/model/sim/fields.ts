/** Columns of deaths that no other area has. Values only. */
import { code, name, optionalCode, quantity } from '../declare.ts'
import type { Field } from '../types.ts'

export const FIELDS = {
  residence_municipality_name: name('Name of the municipality of residence.'),
  occurrence_municipality_code: {
    type: 'integer',
    nullable: true,
    description:
      'Seven-digit code of the municipality where the death happened (CODMUNOCOR); the ignored one of its state where only that is known, null where nothing is.',
  },
  infant_age_code: optionalCode(
    'Part of the first year of life: early_neonatal (0 to 6 days), late_neonatal (7 to 27 days), post_neonatal (28 days to 11 months), unknown; null from 1 year on and for an unknown age.',
  ),
  cause_category_code: optionalCode(
    'Category of the underlying cause: a letter and 2 digits of CID-10; before 1996, 3 digits of CID-9 (800 to 999 are external causes, published without their E).',
  ),
  cause_category_name: name(
    'Name of the category; null where no table of CID-10 was imported, and for CID-9.',
  ),
  cause_chapter_code: optionalCode('Chapter of CID-10 of the underlying cause, 01 to 22; null before 1996.'),
  place_of_death_code: code(
    'Place of death (LOCOCOR): 1 hospital, 2 other facility, 3 home, 4 street, 5 other, 6 indigenous village, 9 not informed. Files before 1996 publish 2 for the street and 4 for other places, and have neither other facilities nor villages.',
  ),
  publication_status: optionalCode(
    'final or preliminary: what the publisher calls the file of the row, by its folder; null where no folder said it.',
  ),
  maternal_deaths: quantity(
    'deaths',
    'Maternal deaths among them: chapter XV without O96 and O97, A34, and B20–B24, D39.2, E23.0, F53, M83.0 in pregnancy or within 42 days of its end.',
  ),
  fetal_deaths: quantity('fetal deaths', 'Fetal deaths (TIPOBITO 1).'),
  premature_ncd_deaths: quantity(
    'deaths',
    'Deaths among them at 30 to 69 years of circulatory diseases (I00–I99), cancer (C00–C97), diabetes (E10–E14) or chronic respiratory diseases (J30–J98).',
  ),
} as const satisfies Record<string, Field>
