import { Dialog } from '@base-ui/react/dialog';
import { useWords } from '../../words/dictionary.js';
import { LogInForm } from './log-in-form.js';
import { SignOnButton } from './sign-on-button.js';
import { de } from './words-de.js';
import { en } from './words-en.js';

/** The login above the screen at which a session has ended. */
export function LogInDialog({ username }: { readonly username: string }) {
  const words = useWords<typeof en>({ en, de });
  return (
    <Dialog.Root open disablePointerDismissal>
      <Dialog.Portal>
        <Dialog.Backdrop className="veil" />
        <Dialog.Popup className="dialog log-in">
          <Dialog.Title>{words.again}</Dialog.Title>
          <Dialog.Description className="quiet">{words.againMore}</Dialog.Description>
          <SignOnButton inWindow />
          <LogInForm username={username} />
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  );
}
