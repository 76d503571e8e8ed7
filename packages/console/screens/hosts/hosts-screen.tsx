import { useTitle } from '../../base/use-title.js';
import { ConfirmDialog } from '../../design/confirm-dialog.js';
import { Refusal } from '../../design/refusal.js';
import { Empty, NoData } from '../../design/states.js';
import { useWords } from '../../words/dictionary.js';
import { HoursByMonth } from './hours-by-month.js';
import { RecipeCard } from './recipe-card.js';
import { useRecipeActions, useRecipes } from './use-recipes.js';
import { de } from './words-de.js';
import { en } from './words-en.js';

/** Recipes of hosts that workload managers bring, with their allocations. */
export function HostsScreen() {
  const words = useWords<typeof en>({ en, de });
  useTitle(words.title);
  const query = useRecipes();
  const actions = useRecipeActions();
  return (
    <section className="screen" aria-labelledby="hosts-title">
      <header className="screen-head">
        <h1 id="hosts-title">{words.title}</h1>
        <span className="faint">{words.about}</span>
      </header>
      <p role="status" className={actions.said === undefined ? 'visually-hidden' : 'faint'}>
        {actions.said}
      </p>
      {actions.fault && <Refusal words={words.refused} error={actions.fault} />}
      <NoData query={query} lines={8} />
      {query.data?.length === 0 && (
        <Empty icon="layers" title={words.none}>
          <p>{words.noneMore}</p>
        </Empty>
      )}
      {query.data?.map((recipe) => (
        <RecipeCard key={recipe.name} recipe={recipe} actions={actions} />
      ))}
      <HoursByMonth />
      <ConfirmDialog question={actions.question} onClose={actions.closeQuestion} />
    </section>
  );
}
