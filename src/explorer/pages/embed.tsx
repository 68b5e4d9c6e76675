/** A question's answer for a frame in another page: title, drawing, table, source, and a link to the question. */
import type { PageModule } from '../page.ts'
import { EMBED_PATH, useQuestionHref, useSite } from '../parts/site.tsx'
import { ResultTable } from '../parts/table.tsx'
import { AnswerTitle, Drawing, EXPLORE, Notes, RowCount, rowsOfPage } from './explore.tsx'
import { type ExploreData, loadQuestion } from './explore-load.ts'
import { QuestionProblem } from './wrong-options.tsx'

function View({ data }: { readonly data: ExploreData }) {
  const { t } = useSite()
  const questionHref = useQuestionHref()
  const { question, catalog, answer, problem } = data
  return (
    <>
      <AnswerTitle data={data} />
      {problem === null ? null : <QuestionProblem problem={problem} question={question} catalog={catalog} />}
      {answer === null ? null : (
        <>
          <Drawing data={data} answer={answer} />
          <ResultTable
            question={question}
            catalog={catalog}
            answer={answer}
            rows={rowsOfPage(question, answer)}
          />
          <p class="hint">
            <RowCount question={question} answer={answer} />
          </p>
          <Notes catalog={catalog} answer={answer} />
          <p class="hint">
            sus-data · {t.release} <code class="wide">{answer.meta.release_id}</code> · {t.fingerprint}{' '}
            <code class="wide">{answer.meta.fingerprint}</code>
          </p>
        </>
      )}
      <p>
        <a class="button" href={questionHref({ ...question, cell: null })}>
          {t.openHere}
        </a>
      </p>
    </>
  )
}

export const EMBED: PageModule<ExploreData> = {
  ...EXPLORE,
  match: (path) => (path === EMBED_PATH ? {} : null),
  load: loadQuestion,
  View,
}
