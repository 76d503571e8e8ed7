import { useTitle } from '../../base/use-title.js';
import { useWords } from '../../words/dictionary.js';
import { LogInForm } from './log-in-form.js';
import { SignOnButton } from './sign-on-button.js';
import { de } from './words-de.js';
import { en } from './words-en.js';

/** The login as a page of its own, for somebody who has just arrived. */
export function LogInPage() {
  const words = useWords<typeof en>({ en, de });
  useTitle(words.title);
  return (
    <main className="log-in-page">
      <div className="card log-in">
        <p className="product">Workbench Hub</p>
        <h1>{words.title}</h1>
        <SignOnButton />
        <LogInForm username="" />
      </div>
    </main>
  );
}
