import { useEffect } from 'react';

/** Names the page, in the tab of the browser and for assistive technology. */
export function useTitle(title: string): void {
  useEffect(() => {
    document.title = `${title} · Workbench Hub`;
  }, [title]);
}
