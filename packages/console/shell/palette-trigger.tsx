import { lazy, Suspense, useEffect, useState } from 'react';
import { Icon } from '../icons/icon.js';
import { useWords } from '../words/dictionary.js';
import { de } from './words-de.js';
import { en } from './words-en.js';

const Palette = lazy(async () => ({ default: (await import('./palette.js')).Palette }));

/** Field that opens the command palette, as Ctrl+K does everywhere. */
export function PaletteTrigger() {
  const words = useWords<typeof en>({ en, de });
  const [isOpen, setOpen] = useState(false);
  const [wasOpened, setOpened] = useState(false);
  const change = (open: boolean) => {
    setOpen(open);
    if (open) setOpened(true);
  };
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() !== 'k' || !(event.ctrlKey || event.metaKey)) return;
      event.preventDefault();
      setOpen((open) => !open);
      setOpened(true);
    };
    window.addEventListener('keydown', onKey);
    return () => window.removeEventListener('keydown', onKey);
  }, []);
  return (
    <>
      <button type="button" className="palette-trigger" aria-haspopup="dialog" onClick={() => change(true)}>
        <Icon name="search" />
        <span>{words.search}</span>
        <kbd>{/Mac/.test(navigator.platform) ? '⌘ K' : 'Ctrl K'}</kbd>
      </button>
      {wasOpened && (
        <Suspense>
          <Palette isOpen={isOpen} onOpenChange={change} />
        </Suspense>
      )}
    </>
  );
}
