/** Equipment categories: code, name. Source: DATASUS tables and ordinance SAES/MS 3.695/2026. */
export const EQUIPMENT_CATEGORIES: readonly (readonly string[])[] = [
  ['01', 'Equipamentos de Diagnóstico por Imagem'],
  ['02', 'Equipamentos de Infraestrutura'],
  ['03', 'Equipamentos por Métodos Ópticos'],
  ['04', 'Equipamentos por Métodos Gráficos'],
  ['05', 'Equipamentos para Manutenção da Vida'],
  ['06', 'Outros Equipamentos'],
  ['07', 'Equipamentos de Odontologia'],
  ['08', 'Equipamentos de Audiologia'],
  ['09', 'Equipamentos de Telemedicina'],
  ['10', 'Equipamentos de Diálise'],
  ['11', 'Avaliação Antropométrica e Funcional'],
  ['12', 'Radioterapia'],
  ['13', 'Quimioterapia'],
  ['14', 'Reabilitação'],
  ['15', 'Procedimentos Clínicos'],
  ['16', 'Procedimentos Cirúrgicos'],
]
