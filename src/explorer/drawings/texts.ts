/** Texts of the charts. */
import type { Language } from '../numbers.ts'

const PT = {
  views: {
    table: 'Tabela',
    bars: 'Barras',
    lines: 'Linhas',
    multiples: 'Pequenos múltiplos',
    heat: 'Mapa de calor',
    scatter: 'Dispersão',
    funnel: 'Funil',
    map: 'Mapa',
  },
  heat: (rows: number, periods: number) => `${rows} linhas por ${periods} períodos`,
  needsSeries: 'Precisa de períodos e de mais uma divisão nas linhas da tabela.',
  needsTwo:
    'A dispersão compara duas métricas: acrescente outra à pergunta. Uma terceira dá o tamanho dos pontos.',
  scatter: (x: string, y: string) => `${y} × ${x}`,
  logarithmic: 'escala log',
  size: (label: string) => `Tamanho dos pontos: ${label}`,
  points: (count: string) => `${count} pontos`,
  missing: (count: string) => `${count} sem dado não ${count === '1' ? 'tem' : 'têm'} ponto.`,
  needsEvents:
    'O funil compara proporções e taxas de acontecimentos (óbitos, internações, nascimentos) de muitos lugares, sem períodos nas linhas nem janela, com o denominador do censo. Não têm funil as taxas padronizadas por idade, as proporções cujo denominador é só uma parte de outra métrica (como o baixo peso entre os nascidos de peso informado) e as taxas por habitante com filtros que não são de lugar ou de tempo.',
  funnel: {
    centre: (value: string) => `Todos juntos: ${value}`,
    level: (level: string) => `Limites de ${level} em torno dele`,
    outside: (above: string, below: string, count: string) =>
      `De ${count} pontos, acima dos limites de 99,8 %: ${above}; abaixo: ${below}. Os de fora diferem do conjunto mais do que o acaso explica.`,
    noneOutside: (count: string) => `Nenhum dos ${count} pontos passa dos limites de 99,8 %.`,
    above: 'acima dos limites de 99,8 %',
    below: 'abaixo dos limites de 99,8 %',
    inside: 'dentro dos limites',
  },
  comparator: 'tracejado: comparador',
} as const
type Widened<Texts> = {
  readonly [Key in keyof Texts]: Texts[Key] extends string
    ? string
    : Texts[Key] extends (...values: never[]) => string
      ? Texts[Key]
      : Widened<Texts[Key]>
}
type Texts = Widened<typeof PT>

const EN: Texts = {
  views: {
    table: 'Table',
    bars: 'Bars',
    lines: 'Lines',
    multiples: 'Small multiples',
    heat: 'Heat table',
    scatter: 'Scatter plot',
    funnel: 'Funnel plot',
    map: 'Map',
  },
  heat: (rows, periods) => `${rows} rows by ${periods} periods`,
  needsSeries: 'Needs periods and one more division among the rows of the table.',
  needsTwo:
    'A scatter plot compares two metrics: add another to the question. A third gives the size of the points.',
  scatter: (x, y) => `${y} × ${x}`,
  logarithmic: 'log scale',
  size: (label) => `Size of the points: ${label}`,
  points: (count) => `${count} points`,
  missing: (count) => `${count} without data ${count === '1' ? 'has' : 'have'} no point.`,
  needsEvents:
    'A funnel plot compares proportions and rates of events (deaths, admissions, births) of many places, without periods as rows or a window, with the denominator of the census. Rates standardized by age, proportions whose denominator is only a part of another metric (such as low weight among births of known weight), and rates by inhabitants with filters other than of places or time have no funnel plot.',
  funnel: {
    centre: (value) => `All together: ${value}`,
    level: (level) => `Limits of ${level} around it`,
    outside: (above, below, count) =>
      `Of ${count} points, above the limits of 99.8 %: ${above}; below: ${below}. Those outside differ from all together by more than chance explains.`,
    noneOutside: (count) => `None of the ${count} points lies beyond the limits of 99.8 %.`,
    above: 'above the limits of 99.8 %',
    below: 'below the limits of 99.8 %',
    inside: 'within the limits',
  },
  comparator: 'dashed: comparator',
}

export const CHART_TEXTS: Readonly<Record<Language, Texts>> = { pt: PT, en: EN }
