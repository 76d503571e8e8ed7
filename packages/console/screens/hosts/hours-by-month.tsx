import { usePreferences } from '../../base/preference-store.js';
import { DataTable } from '../../design/data-table.js';
import { Icon } from '../../icons/icon.js';
import { useWords } from '../../words/dictionary.js';
import { numberText } from '../../words/formats.js';
import { useHostHours } from './use-recipes.js';
import { de } from './words-de.js';
import { en } from './words-en.js';

/** Host-hours of each recipe by month; nothing while there are none. */
export function HoursByMonth() {
  const words = useWords<typeof en>({ en, de });
  const [{ language }] = usePreferences();
  const { data = [] } = useHostHours();
  if (data.length === 0) return null;
  const { title, month, recipe, hours } = words.byMonth;
  return (
    <section className="card recipe" aria-labelledby="hours-title">
      <header className="recipe-head">
        <Icon name="clock" />
        <h2 id="hours-title">{title}</h2>
      </header>
      <DataTable className="lined-table" columns={[month, recipe, [hours, 'hours-ran']]}>
        {data.map((each) => (
          <tr key={`${each.month} ${each.recipe}`}>
            <td>{monthText(each.month, language)}</td>
            <th scope="row">{each.recipe}</th>
            <td className="hours-ran numbers">
              {words.hoursRan(numberText(Math.round(each.hostHours * 10) / 10, language))}
            </td>
          </tr>
        ))}
      </DataTable>
    </section>
  );
}

/** Name of a month such as 2026-11. */
function monthText(month: string, language: string): string {
  // The middle of the month, which is in it everywhere.
  const date = new Date(`${month}-15T12:00:00Z`);
  return date.toLocaleDateString(language, { month: 'long', year: 'numeric' });
}
