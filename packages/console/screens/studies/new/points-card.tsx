import { usePreferences } from '../../../base/preference-store.js';
import { useWords } from '../../../words/dictionary.js';
import { numberText } from '../../../words/formats.js';
import { headingOf, valueText } from '../value-text.js';
import type { Planned } from './planned.js';
import type { StudyDraft } from './study-draft.js';
import { de } from './words-de.js';
import { en } from './words-en.js';

interface PointsCardProps {
  readonly study: StudyDraft;
  /** Undefined while the form is not complete. */
  readonly planned: Planned | undefined;
}

/** The first points before they run; the bounds of points that the hub draws. */
export function PointsCard({ study: { varied }, planned }: PointsCardProps) {
  const words = useWords<typeof en>({ en, de });
  const [{ language }] = usePreferences();
  const number = (value: number) => numberText(value, language);
  return (
    <section className="card part" aria-labelledby="study-points-title">
      <h2 id="study-points-title">{words.points}</h2>
      <p className="faint" role="status">
        {planned === undefined
          ? words.notYet
          : planned.first === undefined
            ? words.drawn(number(planned.count))
            : words.pointCount(number(planned.count))}
      </p>
      {planned !== undefined && (
        <div className="new-study-scroller" tabIndex={0} role="group" aria-label={words.points}>
          {planned.first === undefined ? (
            <Bounds varied={varied} />
          ) : (
            <table className="plain-table new-study-points">
              <thead>
                <tr>
                  <th scope="col">#</th>
                  {varied.map(({ name, unit }) => (
                    <th key={name} scope="col">
                      {headingOf({ name, unit: unit === '' ? undefined : unit })}
                    </th>
                  ))}
                </tr>
              </thead>
              <tbody>
                {planned.first.map((point, index) => (
                  <tr key={String(index)}>
                    <th scope="row">{index + 1}</th>
                    {varied.map(({ name }, at) => (
                      <td key={name}>{valueText(point[at], language)}</td>
                    ))}
                  </tr>
                ))}
              </tbody>
            </table>
          )}
        </div>
      )}
      {planned?.first !== undefined && planned.first.length < planned.count && (
        <p className="faint">{words.furtherPoints(number(planned.count - planned.first.length))}</p>
      )}
    </section>
  );
}

function Bounds({ varied }: Pick<StudyDraft, 'varied'>) {
  const words = useWords<typeof en>({ en, de });
  return (
    <table className="plain-table new-study-points">
      <thead>
        <tr>
          <th scope="col">{words.variable}</th>
          <th scope="col">{words.fields.from}</th>
          <th scope="col">{words.fields.to}</th>
        </tr>
      </thead>
      <tbody>
        {varied.map(({ name, unit, from, to }) => (
          <tr key={name}>
            <th scope="row">{headingOf({ name, unit: unit === '' ? undefined : unit })}</th>
            <td>{from}</td>
            <td>{to}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
