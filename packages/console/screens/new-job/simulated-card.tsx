import { useWords } from '../../words/dictionary.js';
import type { Draft } from './draft.js';
import { de } from './words-de.js';
import { en } from './words-en.js';

interface SimulatedCardProps {
  readonly draft: Draft;
  readonly onChange: (draft: Draft) => void;
}

/** Simulated work in place of files: an instance is kept busy for some seconds. */
export function SimulatedCard({ draft, onChange }: SimulatedCardProps) {
  const words = useWords<typeof en>({ en, de });
  return (
    <section className="card part more" aria-labelledby="simulated-title">
      <h2 id="simulated-title">{words.simulated}</h2>
      <div className="field">
        <label htmlFor="simulated-seconds">{words.simulatedSeconds}</label>
        <input
          id="simulated-seconds"
          className="input"
          inputMode="numeric"
          value={draft.simulatedS ?? ''}
          onChange={(event) => onChange({ ...draft, simulatedS: event.target.value.trim() })}
        />
      </div>
      <p className="faint">{words.simulatedMore}</p>
    </section>
  );
}
