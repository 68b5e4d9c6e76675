/**
 * The demonstration's code lists at the sizes of a complete month: published codes with their names, the rest plainly invented.
 */
import * as codes from '../../src/model/cnes/codes/index.ts'

const SIZES = { equipment_types: 224, service_types: 73, classifications: 459 } as const

export interface DemoCatalogs {
  readonly bedTypes: readonly (readonly string[])[]
  readonly bedCategories: readonly (readonly string[])[]
  readonly equipmentTypes: readonly (readonly string[])[]
  readonly equipmentCategories: readonly (readonly string[])[]
  readonly serviceTypes: readonly (readonly string[])[]
  readonly classifications: readonly (readonly string[])[]
}

export function makeCatalogs(): DemoCatalogs {
  const equipmentTypes = [...codes.EQUIPMENT_TYPES]
  // Categories 11 and 14 to 16 have a number but no published types: their types are invented until the list has its size.
  for (let index = 0; equipmentTypes.length < SIZES.equipment_types; index += 1) {
    const category = ['11', '14', '15', '16'][index % 4] ?? '11'
    const code = String(Math.floor(index / 4) + 1).padStart(2, '0')
    equipmentTypes.push([category, code, `Equipamento demonstrativo ${category}-${code}`])
  }
  const serviceTypes = [...codes.SERVICE_TYPES]
  for (let index = 0; serviceTypes.length < SIZES.service_types; index += 1)
    serviceTypes.push([String(901 + index), `Serviço demonstrativo ${901 + index}`])
  const classifications = [...codes.SERVICE_CLASSIFICATIONS].map(([service = '', code = '', name = '']) => [
    service,
    code,
    name === '' ? `Classificação demonstrativa ${service}-${code}` : name,
  ])
  for (let index = 0; classifications.length < SIZES.classifications; index += 1) {
    const service = String(901 + (index % 2))
    const code = String(Math.floor(index / 2) + 1).padStart(3, '0')
    classifications.push([service, code, `Classificação demonstrativa ${service}-${code}`])
  }
  return {
    bedTypes: codes.BED_TYPES,
    bedCategories: codes.BED_CATEGORIES,
    equipmentTypes,
    equipmentCategories: codes.EQUIPMENT_CATEGORIES,
    serviceTypes,
    classifications,
  }
}
