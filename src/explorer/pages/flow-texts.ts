/** Texts of the pages of flows in Portuguese and English. */

export const FLOWS_PT = {
  title: (place: string) => `De onde vêm e para onde vão os pacientes: ${place}`,
  link: 'De onde vêm e para onde vão os pacientes',
  back: 'página do lugar',
  by: 'Outro lugar por',
  earlier: (months: string) => `O mês mais novo comum a todos os números desta página é ${months}.`,
  wrongOrder: 'O primeiro mês vem depois do último: escolha outros.',
  short: 'A soma das linhas é menor que o total: há lugares sem dado em algum mês (veja as notas).',
  /** Names of figures of the hospitals here: the catalog's name them from the patients' side. */
  livingElsewhere: {
    admissions_outside_health_region_share: 'Proporção de internações de quem mora em outra região de saúde',
    admissions_outside_state_share: 'Proporção de internações de quem mora em outro estado',
  },
  sides: {
    residence: { title: 'Quem mora aqui', partners: 'Onde são internados os que moram aqui' },
    hospital: { title: 'Hospitais daqui', partners: 'Onde moram os internados aqui' },
  },
  share: 'Proporção (%)',
  distance: 'Distância média (km)',
  home: 'este lugar',
  unknown: 'Lugar não informado',
  nobody: 'Nenhuma internação, ou sem dado: veja as notas.',
  allRows: (count: string) => `Ver todos como pergunta (${count})`,
  directions: 'Os dois sentidos',
  directionsHint: 'Internações trocadas com cada outro lugar, as maiores somas primeiro.',
  sent: 'Moradores daqui internados lá',
  received: 'Moradores de lá internados aqui',
}

export const FLOWS_EN: typeof FLOWS_PT = {
  title: (place: string) => `Where patients come from and go: ${place}`,
  link: 'Where patients come from and go',
  back: 'page of the place',
  by: 'Other place by',
  earlier: (months: string) => `The newest month that all numbers of this page share is ${months}.`,
  wrongOrder: 'The first month is after the last one: choose others.',
  short: 'The rows add up to less than the total: some places lack data of a month (see the notes).',
  /** Names of figures of the hospitals here: the catalog's name them from the patients' side. */
  livingElsewhere: {
    admissions_outside_health_region_share: 'Share of admissions of residents of another health region',
    admissions_outside_state_share: 'Share of admissions of residents of another state',
  },
  sides: {
    residence: { title: 'Residents', partners: 'Where residents are admitted' },
    hospital: { title: 'Hospitals here', partners: 'Where those admitted here live' },
  },
  share: 'Share (%)',
  distance: 'Average distance (km)',
  home: 'this place',
  unknown: 'Place not informed',
  nobody: 'No admissions, or no data: see the notes.',
  allRows: (count: string) => `See all as a question (${count})`,
  directions: 'Both directions',
  directionsHint: 'Admissions exchanged with each other place, largest sums first.',
  sent: 'Residents admitted there',
  received: 'Residents of there admitted here',
}
