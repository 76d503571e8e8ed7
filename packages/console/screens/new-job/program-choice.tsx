import { useQuery } from '@tanstack/react-query';
import { useWords } from '../../words/dictionary.js';
import type { DraftFile } from './draft.js';
import { contentOf } from './draft-store.js';
import {
  FIRST_LINE_BYTES,
  interpreterIn,
  likelyProgram,
  PROGRAMS,
  type ScriptProgram,
} from './script-language.js';
import { de } from './words-de.js';
import { en } from './words-en.js';

interface ProgramChoiceProps {
  readonly file: DraftFile;
  readonly onChange: (program: ScriptProgram) => void;
}

/** The program that runs a script: that of its first line, or one to be chosen. */
export function ProgramChoice({ file, onChange }: ProgramChoiceProps) {
  const words = useWords<typeof en>({ en, de });
  const { id, path, program = likelyProgram(path) } = file;
  const { data: interpreter } = useQuery({
    queryKey: ['new-job', 'first-line', id, file.content],
    queryFn: async ({ signal }) => {
      const content = await contentOf(file, signal);
      return interpreterIn(await content.slice(0, FIRST_LINE_BYTES).text()) ?? null;
    },
    staleTime: Number.POSITIVE_INFINITY,
  });
  if (typeof interpreter === 'string') {
    return (
      <span className="tag mono program" title={words.runsWith(path)}>
        #!{interpreter}
      </span>
    );
  }
  return (
    <select
      className="input program"
      aria-label={words.runsWith(path)}
      title={program === 'own' ? undefined : words.firstLineAdded}
      value={program}
      onChange={(event) => onChange(event.target.value as ScriptProgram)}
    >
      {PROGRAMS.map((each) => (
        <option key={each} value={each}>
          {words.programs[each]}
        </option>
      ))}
    </select>
  );
}
