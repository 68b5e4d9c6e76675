/** The table of routes. Only the routes listed here are served. */
import type { Route } from '../route.ts'
import { ADMISSIONS } from './admissions.ts'
import { ANALYTICS } from './analytics.ts'
import { BED_CAPACITY } from './bed-capacity.ts'
import { BIRTHS } from './births.ts'
import { CHANGES } from './changes.ts'
import { DEATHS } from './deaths.ts'
import { DEMOGRAPHY } from './demography.ts'
import { EQUIPMENT_INVENTORY } from './equipment-inventory.ts'
import { EXPORTS } from './exports.ts'
import { FACILITIES } from './facilities.ts'
import { GEOGRAPHY } from './geography.ts'
import { HEALTH } from './health.ts'
import { HEALTH_FINANCING } from './health-financing.ts'
import { LINKS } from './links.ts'
import { LOG } from './log.ts'
import { OUTLINES } from './outlines.ts'
import { PROFILES } from './profiles.ts'
import { RELEASES } from './releases.ts'
import { SPECIALIZED_SERVICES } from './specialized-services.ts'

export const ROUTES: readonly Route[] = [
  ...HEALTH,
  ...RELEASES,
  ...CHANGES,
  ...LOG,
  ...GEOGRAPHY,
  ...OUTLINES,
  ...FACILITIES,
  ...BED_CAPACITY,
  ...EQUIPMENT_INVENTORY,
  ...SPECIALIZED_SERVICES,
  ...DEMOGRAPHY,
  ...ADMISSIONS,
  ...DEATHS,
  ...BIRTHS,
  ...HEALTH_FINANCING,
  ...ANALYTICS,
  ...PROFILES,
  ...EXPORTS,
  ...LINKS,
]
