/**
 * The named rules that turn one published cell into one value: their texts, which provenance shows.
 *
 * One table feeds both sides: the importer builds its SQL from it (import/rules.ts gives each rule's expression), and
 * provenance answers show it, so that what an auditor reads is what was done. Values only.
 */
/** A rule turns one published cell into one value; its text is what provenance shows. */
export const RULES = {
  text: 'blanks trimmed; empty is null',
  name: 'blanks trimmed; empty is null; sequences of eleven digits (CPF) removed',
  cadger_name: 'prefix "CNPJ …-" removed; then as a name',
  code1: 'blanks trimmed, padded with zeros to 1 digit; empty is null',
  code2: 'blanks trimmed, padded with zeros to 2 digits; empty is null',
  code3: 'blanks trimmed, padded with zeros to 3 digits; empty is null',
  code4: 'blanks trimmed, padded with zeros to 4 digits; empty is null',
  code7: 'blanks trimmed, padded with zeros to 7 digits; empty is null',
  cnpj: 'fourteen digits that are not all zeros and not a CPF, or letters and digits with right check digits (issued since July 2026), in upper case; anything else is null',
  postal_code: 'eight digits; anything else is null',
  phone: 'kept when it holds at least eight digits; anything else is null',
  house_number: 'blanks trimmed; empty is null',
  quantity: 'whole number, zero or more',
  quantity_optional: 'whole number, zero or more; empty is null',
  yes_no: 'S is true, N is false; anything else is null',
  yes_no_1_0: '1 is true, 0 is false; anything else is null',
  flag_1_2: '1 is true, anything else is false',
  flag_1_0: '1 is true, anything else is false',
  tp_sus: '1, 2, 0 or 9; empty and anything else is 0',
  ind_sus: '1 is 1 (yes), anything else is 2 (no)',
  characteristic: '1, 2 or 3; anything else is null',
  management: 'M, E, D or S; Z is S; anything else is null',
  coordinate_latitude: 'decimal degrees between −34 and 6, comma or point; anything else is null',
  coordinate_longitude: 'decimal degrees between −74 and −28, comma or point; anything else is null',
  date_dmy: 'DD/MM/YYYY from 1900 on; anything else is null',
  date_ym: 'YYYYMM: first day of the month; anything else is null',
  municipality:
    'six digits → the seven of the IBGE list; 53xxxx is Brasília; an old code is what br_municip.cnv puts it under, where that table was imported; another one that names a state is the ignored municipality of that state; where there is no code (blank, 000000, 999999, anything else), the state is the managing one, else that of the unit code, and in files by state that of the file',
  managing_state:
    'read where the municipality code names no state: the ignored municipality of the managing state, else of the first two digits of the unit code (of the Federal District: Brasília)',
  federal_district_region:
    'six digits of a region of the Federal District (53xxxx but 530000 and 530010), a zero added; anything else is null',
  deactivated: 'active when empty',
  provider:
    'CNES code, CNPJ (digits, or letters and digits, with right check digits), or a filler; a CPF is never kept',
} as const

export type RuleName = keyof typeof RULES

/** Columns whose published cell may hold a CPF: their raw value is stored only where the rule left a value. */
export const GUARDED_RULES: ReadonlySet<RuleName> = new Set([
  'cnpj',
  'provider',
  'name',
  'house_number',
  'cadger_name',
])
