/** Classifications of persons and diagnoses that several areas share: race and groups of causes. */
import { closed, optionalCode } from '../declare.ts'
import type { DimensionDeclaration, Field } from '../types.ts'
import { CAUSE_GROUP_NAMES } from './cause-groups.ts'
import { RACE_NOT_INFORMED, RACES } from './races.ts'

export const FIELDS = {
  race_code: optionalCode(
    'Race or colour: 01 white, 02 black, 03 brown, 04 yellow, 05 indigenous, 99 not informed; null where the file has no column of it.',
  ),
  cause_group_code: optionalCode(
    'Group of causes of the list CID-BR of the diagnosis; 000 outside the list, null where the diagnosis is none of CID-10.',
  ),
} as const satisfies Record<string, Field>

export const DIMENSIONS = {
  race: {
    ...closed('Raça/cor', 'Race or colour', 'race_code', RACES),
    unknown: RACE_NOT_INFORMED,
    tier: 'extended',
  },
  cause_group: {
    ...closed('Grupo de causas (CID-BR)', 'Group of causes (CID-BR)', 'cause_group_code', CAUSE_GROUP_NAMES),
    tier: 'extended',
  },
} as const satisfies Record<string, DimensionDeclaration>
