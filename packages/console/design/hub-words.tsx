/** Words of the hub, which are English in every language of the console. */
import { HubError, UnreachableError } from '@workbench-hub/client';
import { usePreferences } from '../base/preference-store.js';
import { REFUSALS_DE } from '../words/refusals-de.js';

/** A text of the hub, or of a program, as it is. */
export function HubWords({ children }: { readonly children: string }) {
  const [{ language }] = usePreferences();
  return <span lang={language === 'en' ? undefined : 'en'}>{children}</span>;
}

/** Why something failed, in the reader's language as far as the code of the error tells. */
export function ErrorWords({ error }: { readonly error: Error }) {
  const [{ language }] = usePreferences();
  if (language === 'en') return error.message;
  if (error instanceof UnreachableError) return 'Der Hub ist nicht erreichbar.';
  const known = error instanceof HubError ? REFUSALS_DE[error.code] : undefined;
  if (known === undefined) return <HubWords>{error.message}</HubWords>;
  // Its details are in the hub's sentence alone.
  if (!known.endsWith(':')) return known;
  return (
    <>
      {known} <HubWords>{error.message}</HubWords>
    </>
  );
}
