/**
 * Metrics of hospital admissions. Admissions are flows, which are summed over months. Values only. Each is declared over the
 * admissions by hospital. A query by diagnosis, age, sex or residence reads the same admissions by residence (metrics.ts,
 * measuresOf).
 */
import { both, counted, metricsOf, ratio, share, sum } from '../declare.ts'
import type { Text } from '../types.ts'
import { FLOW_METRICS } from './flow-metrics.ts'

const HOSPITALS = 'hospital_admissions'
const MONTH = both(
  'pelo mês de processamento, que é o da alta ou um posterior',
  'by month of processing, which is that of the discharge or a later one',
)

const RESIDENTS = 'hospital_admissions_by_residence'
const UNIVERSE: Text = both(
  'Internações (IDENT 1) com diagnóstico principal da CID-10 que não são parto: sem dez procedimentos obstétricos, sem O80 a O84, sem longa permanência',
  'Admissions (IDENT 1) with a main diagnosis of CID-10 that are no delivery: without ten obstetric procedures, without O80 to O84, without long stays',
)

export const METRICS = metricsOf('extended', {
  admissions: counted(
    sum(HOSPITALS, 'admissions'),
    'admissions',
    'Internações',
    'Hospital admissions',
    both(
      `Internações aprovadas do SUS (AIH com IDENT 1), ${MONTH.pt}. Transferências e reinternações são outras internações: não são pessoas.`,
      `Approved admissions of SUS (AIH with IDENT 1), ${MONTH.en}. Transfers and readmissions are admissions of their own: they are not persons.`,
    ),
  ),
  admission_records: counted(
    sum(HOSPITALS, 'admission_records'),
    'records',
    'AIH aprovadas',
    'Approved admission records',
    both(
      `AIH aprovadas, com as continuações de longa permanência (IDENT 5), ${MONTH.pt}.`,
      `Approved admission authorisations (AIH), continuations of long stays (IDENT 5) included, ${MONTH.en}.`,
    ),
  ),
  days_of_stay: counted(
    sum(HOSPITALS, 'days_of_stay'),
    'days',
    'Dias de permanência',
    'Days of stay',
    both(
      'Dias de permanência dos registros; de uma continuação, os do seu mês.',
      'Days of stay of the records; of a continuation, those of its month.',
    ),
  ),
  average_stay_days: ratio(
    'days_of_stay',
    'admissions',
    1,
    'days',
    'Média de permanência',
    'Average length of stay',
  ),
  hospital_deaths: counted(
    sum(HOSPITALS, 'deaths'),
    'deaths',
    'Óbitos hospitalares',
    'Hospital deaths',
    both('Registros que terminaram em óbito.', 'Records that ended with death.'),
  ),
  hospital_mortality_share: share(
    'hospital_deaths',
    'admissions',
    'Taxa de mortalidade hospitalar',
    'Hospital deaths as a share of admissions',
  ),
  admissions_value: {
    ...counted(
      sum(HOSPITALS, 'value_total_cents'),
      'BRL',
      'Valor das internações',
      'Value of admissions',
      both(
        'Valor dos registros em reais (VAL_TOT): aprovado, o que ainda não é pago, em preços da época.',
        'Value of the records in reais (VAL_TOT): approved, which is not yet paid, in prices of its time.',
      ),
    ),
    isMoney: true,
  },
  average_admission_value: ratio(
    'admissions_value',
    'admissions',
    1,
    'BRL',
    'Valor médio da internação',
    'Average value of an admission',
  ),
  icu_days: counted(
    sum(HOSPITALS, 'icu_days'),
    'days',
    'Diárias de UTI',
    'Days in intensive care',
    both('Dias de terapia intensiva dos registros.', 'Days in intensive care of the records.'),
  ),
  admissions_per_10k: {
    ...ratio(
      'admissions',
      'population_census',
      10_000,
      'admissions per 10,000 inhabitants',
      'Internações por 10 mil habitantes (residência)',
      'Admissions per 10,000 inhabitants, by residence',
    ),
    numeratorOf: 'hospital_admissions_by_residence',
  },
  admissions_per_10k_standardized: {
    ...ratio(
      'admissions',
      'population_by_age',
      10_000,
      'admissions per 10,000 inhabitants',
      'Internações por 10 mil habitantes, padronizadas por idade (residência)',
      'Age-standardized admissions per 10,000 inhabitants, by residence',
    ),
    description: both(
      'Padronização direta: internações por 10 mil habitantes se cada uma das 17 faixas etárias tivesse a sua parte na população padrão, a do Brasil em 2010 (POPSBR). Os residentes são os de population_by_age, de um sexo onde a consulta é por sexo; a parte de cada faixa é mantida com 6 casas decimais. Internações de idade não informada ficam de fora; sem dado onde uma faixa etária não tem residentes.',
      'Directly standardized: admissions per 10,000 inhabitants if each of the 17 age groups had its share of the standard population, that of Brazil in 2010 (POPSBR). Residents are those of population_by_age, of one sex where the query is by sex; each group’s part is kept to 6 decimals. Admissions of unknown age are left out; null where an age group has no residents.',
    ),
    numeratorOf: 'hospital_admissions_by_residence',
    standardizedBy: 'brazil_2010',
  },
  icsap_universe_admissions: counted(
    sum(RESIDENTS, 'icsap_universe_admissions'),
    'admissions',
    'Internações comparadas às sensíveis à atenção primária',
    'Admissions that avoidable ones are compared with',
    both(`${UNIVERSE.pt}.`, `${UNIVERSE.en}.`),
  ),
  icsap_admissions: counted(
    sum(RESIDENTS, 'icsap_admissions'),
    'admissions',
    'Internações por condições sensíveis à atenção primária (ICSAP)',
    'Admissions for conditions sensitive to primary care (ICSAP)',
    both(
      `${UNIVERSE.pt}, e cujo diagnóstico está em um dos 19 grupos da Portaria SAS/MS 221/2008.`,
      `${UNIVERSE.en}, whose diagnosis is in one of the 19 groups of Portaria SAS/MS 221/2008.`,
    ),
  ),
  icsap_share: {
    ...share(
      'icsap_admissions',
      'icsap_universe_admissions',
      'Proporção de internações sensíveis à atenção primária',
      'Admissions sensitive to primary care as a share',
    ),
    // By group, both sides would be the same admissions.
    without: ['icsap_group'],
  },
  icsap_per_10k: ratio(
    'icsap_admissions',
    'population_census',
    10_000,
    'admissions per 10,000 inhabitants',
    'Internações sensíveis à atenção primária por 10 mil habitantes (residência)',
    'Admissions sensitive to primary care per 10,000 inhabitants, by residence',
  ),
  ...FLOW_METRICS,
  sus_bed_days: counted(
    { dataset: 'bed_capacity', kind: 'sum', field: 'beds_sus', timesDays: true },
    'bed-days',
    'Leitos-dia SUS',
    'SUS bed-days',
    both(
      'Leitos SUS de cada mês vezes os seus dias, somados pelos meses.',
      'SUS beds of each month times its days, added up over the months.',
    ),
  ),
  bed_occupancy_share: share(
    'days_of_stay',
    'sus_bed_days',
    'Taxa de ocupação dos leitos SUS',
    'Occupancy of SUS beds',
  ),
})
