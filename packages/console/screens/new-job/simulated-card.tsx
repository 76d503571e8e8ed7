import { TextField } from '../../design/text-field.js';
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
      <TextField
        id="simulated-seconds"
        label={words.simulatedSeconds}
        inputMode="numeric"
        value={draft.simulatedS ?? ''}
        onChange={(text) => onChange({ ...draft, simulatedS: text.trim() })}
      />
      <p className="faint">{words.simulatedMore}</p>
    </section>
  );
}
