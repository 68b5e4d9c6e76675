/** Metrics of deaths. Deaths are flows, which are summed over months. Values only. */
import { both, counted, metricsOf, part, perCapita, ratio, ratioOfParts, share, sum } from '../declare.ts'
import { AGE_GROUPS } from '../demography/code-lists.ts'
import { INFANT_AGES, type InfantAge } from './code-lists.ts'

const DEATHS = 'deaths'
const ILL_DEFINED = [{ field: 'cause_chapter_code', equals: '18' }] as const
const EXTERNAL = [{ field: 'cause_chapter_code', equals: '20' }] as const
const BY_RESIDENCE = both(
  'pelo mês do óbito e pelo município de residência; óbitos fetais não contam',
  'by month of death and municipality of residence; fetal deaths do not count',
)
const LABELS = { unit: 'deaths', label: 'Óbitos', label_en: 'Deaths' } as const

const deathsOf = (
  label: string,
  label_en: string,
  description: readonly [pt: string, en: string],
  measure: ReturnType<typeof sum>,
) => counted(measure, 'deaths', label, label_en, both(description[0], description[1]))

/** Deaths under one year, or in parts of it, per 1,000 live births. */
const infantRate = (
  ages: readonly InfantAge[],
  label: readonly [pt: string, en: string],
  deaths: readonly [pt: string, en: string],
) =>
  ratioOfParts(
    part('deaths', { field: 'infant_age_code', oneOf: ages }, `óbitos ${deaths[0]}`, `deaths ${deaths[1]}`),
    'births',
    1000,
    'deaths per 1,000 live births',
    label[0],
    label[1],
  )
const OF_KNOWN_AGE = { field: 'age_group', oneOf: AGE_GROUPS } as const
const NEONATAL = ['early_neonatal', 'late_neonatal'] as const
/** Age groups of residents of 30 to 69 years, among whom deaths of chronic diseases are premature. */
const PREMATURE_AGES = AGE_GROUPS.filter((group) => group >= '30' && group < '70')

export const METRICS = metricsOf('extended', {
  deaths: deathsOf(
    LABELS.label,
    LABELS.label_en,
    [`Óbitos ${BY_RESIDENCE.pt}.`, `Deaths ${BY_RESIDENCE.en}.`],
    sum(DEATHS, 'deaths'),
  ),
  deaths_by_occurrence: deathsOf(
    'Óbitos por local de ocorrência',
    'Deaths by place of occurrence',
    [
      'Óbitos não fetais pelo mês do óbito e pelo município onde ocorreram, morasse onde morasse quem morreu.',
      'Deaths that are not fetal by month of death and the municipality where they happened, wherever the dead lived.',
    ],
    sum('deaths_by_occurrence', 'deaths'),
  ),
  fetal_deaths: counted(
    sum('fetal_deaths', 'fetal_deaths'),
    'fetal deaths',
    'Óbitos fetais',
    'Fetal deaths',
    both(
      'Óbitos fetais pelo mês do óbito e pelo município de residência da mãe. Não contam entre os óbitos.',
      'Fetal deaths by month of death and municipality of residence of the mother. They do not count among deaths.',
    ),
  ),
  deaths_per_100k: perCapita('deaths', LABELS),
  deaths_per_100k_standardized: {
    ...ratio(
      'deaths',
      'population_by_age',
      100_000,
      'deaths per 100,000 inhabitants',
      'Óbitos por 100 mil habitantes, padronizados por idade',
      'Age-standardized deaths per 100,000 inhabitants',
    ),
    description: both(
      'Padronização direta: óbitos por 100 mil habitantes se cada uma das 17 faixas etárias tivesse a sua parte na população padrão, a do Brasil em 2010 (POPSBR). Óbitos de idade ignorada ficam de fora; sem dado onde uma faixa etária não tem residentes.',
      'Directly standardized: deaths per 100,000 inhabitants if each of the 17 age groups had its share of the standard population, that of Brazil in 2010 (POPSBR). Deaths of unknown age are left out; null where an age group has no residents.',
    ),
    standardizedBy: 'brazil_2010',
  },
  maternal_deaths: deathsOf(
    'Óbitos maternos',
    'Maternal deaths',
    [
      'Óbitos de mulheres pela regra oficial: capítulo XV da CID-10 sem O96 e O97, A34, e B20–B24, D39.2, E23.0, F53 e M83.0 na gravidez ou até 42 dias depois do seu fim.',
      'Deaths of women by the official rule: chapter XV of CID-10 without O96 and O97, A34, and B20–B24, D39.2, E23.0, F53 and M83.0 in pregnancy or within 42 days of its end.',
    ],
    sum(DEATHS, 'maternal_deaths'),
  ),
  premature_ncd_deaths: deathsOf(
    'Óbitos prematuros por doenças crônicas',
    'Premature deaths of chronic diseases',
    [
      'Óbitos de 30 a 69 anos por doenças do aparelho circulatório (I00–I99), câncer (C00–C97), diabetes (E10–E14) e doenças respiratórias crônicas (J30–J98).',
      'Deaths at 30 to 69 years of circulatory diseases (I00–I99), cancer (C00–C97), diabetes (E10–E14) and chronic respiratory diseases (J30–J98).',
    ],
    sum(DEATHS, 'premature_ncd_deaths'),
  ),
  premature_ncd_deaths_per_100k: ratioOfParts(
    'premature_ncd_deaths',
    part(
      'population_by_age',
      { field: 'age_group', oneOf: PREMATURE_AGES },
      'residentes de 30 a 69 anos',
      'residents of 30 to 69 years',
    ),
    100_000,
    'deaths per 100,000 inhabitants of 30 to 69 years',
    'Óbitos prematuros por doenças crônicas por 100 mil habitantes de 30 a 69 anos',
    'Premature deaths of chronic diseases per 100,000 inhabitants of 30 to 69 years',
  ),
  external_cause_deaths: deathsOf(
    'Óbitos por causas externas',
    'Deaths of external causes',
    ['Óbitos do capítulo XX da CID-10 (V01–Y98).', 'Deaths of chapter XX of CID-10 (V01–Y98).'],
    sum(DEATHS, 'deaths', EXTERNAL),
  ),
  external_cause_deaths_per_100k: perCapita('external_cause_deaths', {
    unit: 'deaths',
    label: 'Óbitos por causas externas',
    label_en: 'Deaths of external causes',
  }),
  ill_defined_deaths: deathsOf(
    'Óbitos por causas mal definidas',
    'Deaths of ill-defined causes',
    ['Óbitos do capítulo XVIII da CID-10 (R00–R99).', 'Deaths of chapter XVIII of CID-10 (R00–R99).'],
    sum(DEATHS, 'deaths', ILL_DEFINED),
  ),
  ill_defined_deaths_share: share(
    'ill_defined_deaths',
    'deaths',
    'Óbitos por causas mal definidas, % dos óbitos',
    'Ill-defined causes, % of deaths',
  ),
  infant_mortality_rate: infantRate(
    Object.keys(INFANT_AGES) as InfantAge[],
    ['Taxa de mortalidade infantil', 'Infant mortality rate'],
    ['de menores de 1 ano', 'under 1 year'],
  ),
  neonatal_mortality_rate: infantRate(
    NEONATAL,
    ['Taxa de mortalidade neonatal', 'Neonatal mortality rate'],
    ['de 0 a 27 dias', 'at 0 to 27 days'],
  ),
  early_neonatal_mortality_rate: infantRate(
    ['early_neonatal'],
    ['Taxa de mortalidade neonatal precoce', 'Early neonatal mortality rate'],
    ['de 0 a 6 dias', 'at 0 to 6 days'],
  ),
  late_neonatal_mortality_rate: infantRate(
    ['late_neonatal'],
    ['Taxa de mortalidade neonatal tardia', 'Late neonatal mortality rate'],
    ['de 7 a 27 dias', 'at 7 to 27 days'],
  ),
  post_neonatal_mortality_rate: infantRate(
    ['post_neonatal'],
    ['Taxa de mortalidade pós-neonatal', 'Post-neonatal mortality rate'],
    ['de 28 dias a 11 meses', 'at 28 days to 11 months'],
  ),
  life_expectancy_at_birth: {
    ...ratioOfParts(
      part('deaths', OF_KNOWN_AGE, 'óbitos de idade conhecida', 'deaths of known age'),
      'population_by_age',
      1,
      'years',
      'Esperança de vida ao nascer',
      'Life expectancy at birth',
    ),
    isLifeExpectancy: true,
    description: both(
      'Número médio de anos que um recém-nascido viveria se a mortalidade do grupo nos meses pedidos durasse por toda a sua vida: tábua de vida abreviada de 17 faixas (0 a 4 anos até 80 e mais, aberta). Sem dado com menos de 5.000 residentes, sem residentes em uma faixa ou sem óbitos na última.',
      'Average number of years that a newborn would live if the mortality of the group in the requested months lasted for life: an abridged life table of 17 age groups (0 to 4 years up to the open group of 80 and over). Null with fewer than 5,000 residents, without residents in an age group, or without deaths in the last.',
    ),
    without: [
      ...['race', 'age_group', 'infant_age', 'cause_chapter', 'cause_category', 'cause_group'],
      'place_of_death',
    ],
  },
  maternal_mortality_ratio: {
    ...ratio(
      'maternal_deaths',
      'births',
      100_000,
      'deaths per 100,000 live births',
      'Razão de mortalidade materna',
      'Maternal mortality ratio',
    ),
    // The deaths are of women, the births of both sexes.
    without: ['sex'],
  },
})
