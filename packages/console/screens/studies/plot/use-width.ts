import { useLayoutEffect, useState } from 'react';

const FIRST_WIDTH = 640;

/** Width of the place in pixels, measured before it is first painted, so that nothing reaches beyond a narrow window. */
export function useWidth(place: { readonly current: HTMLElement | null }): number {
  const [width, setWidth] = useState(FIRST_WIDTH);
  useLayoutEffect(() => {
    const element = place.current;
    if (element === null) return;
    setWidth(element.clientWidth);
    const watching = new ResizeObserver(() => setWidth(element.clientWidth));
    watching.observe(element);
    return () => watching.disconnect();
  }, [place]);
  return width;
}
