import { useEffect } from 'react';

/** Keeps files that are dropped where no screen takes them from taking the place of the page, and what was typed with it. */
export function useNoNavigationByDrop(): void {
  useEffect(() => {
    const refuse = (event: DragEvent) => {
      // A screen takes them.
      if (event.defaultPrevented || !event.dataTransfer?.types.includes('Files')) return;
      event.preventDefault();
      event.dataTransfer.dropEffect = 'none';
    };
    window.addEventListener('dragover', refuse);
    window.addEventListener('drop', refuse);
    return () => {
      window.removeEventListener('dragover', refuse);
      window.removeEventListener('drop', refuse);
    };
  }, []);
}
