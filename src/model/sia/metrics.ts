/** Metrics of outpatient production. They are flows, summed over months of processing. Values only. */
import { both, counted, metricsOf, ratio, share, sum } from '../declare.ts'

const PRODUCTION = 'outpatient_production'

export const METRICS = metricsOf('extended', {
  outpatient_quantity_approved: counted(
    sum(PRODUCTION, 'quantity_approved'),
    'procedures',
    'Quantidade ambulatorial aprovada',
    'Outpatient quantity approved',
    both(
      'Quantidade aprovada de procedimentos ambulatoriais (PA_QTDAPR), pelo mês de processamento. Cada procedimento tem a sua unidade (medicamentos contam em comprimidos): não são consultas nem pessoas.',
      'Quantity of outpatient procedures approved (PA_QTDAPR), by month of processing. Each procedure has its own unit (medicines are counted in pills): quantities are neither visits nor persons.',
    ),
  ),
  outpatient_quantity_presented: counted(
    sum(PRODUCTION, 'quantity_presented'),
    'procedures',
    'Quantidade ambulatorial apresentada',
    'Outpatient quantity presented',
    both(
      'Quantidade apresentada de procedimentos ambulatoriais (PA_QTDPRO), pelo mês de processamento, com o que não foi aprovado.',
      'Quantity of outpatient procedures presented (PA_QTDPRO), by month of processing, those that were not approved included.',
    ),
  ),
  outpatient_approval_share: share(
    'outpatient_quantity_approved',
    'outpatient_quantity_presented',
    'Proporção aprovada da quantidade ambulatorial',
    'Share of the outpatient quantity that was approved',
  ),
  outpatient_value_approved: {
    ...counted(
      sum(PRODUCTION, 'value_approved_cents'),
      'BRL',
      'Valor ambulatorial aprovado',
      'Outpatient value approved',
      both(
        'Valor dos procedimentos ambulatoriais em reais (PA_VALAPR), com complementos locais: aprovado, o que ainda não é pago, em preços da época.',
        'Value of outpatient procedures in reais (PA_VALAPR), local complements included: approved, which is not yet paid, in prices of its time.',
      ),
    ),
    isMoney: true,
  },
  outpatient_value_per_capita: ratio(
    'outpatient_value_approved',
    'population_census',
    1,
    'BRL per inhabitant',
    'Valor ambulatorial aprovado por habitante',
    'Outpatient value approved per inhabitant',
  ),
})
