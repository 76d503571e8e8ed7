import { useMemo } from 'react';
import { useLocation, useSearch } from 'wouter';
import { type Place, placeIn, searchOf } from './place.js';

/** The place that the address names, and what changes a part of it. The address is replaced, so that *Back* leaves the task. */
export function usePlace(): readonly [Place, (change: Partial<Place>) => void] {
  const search = useSearch();
  const [path, navigate] = useLocation();
  const place = useMemo(() => placeIn(search), [search]);
  const change = (changed: Partial<Place>) => {
    // The address itself, since another change of the same moment may not be drawn yet.
    const wanted = searchOf({ ...placeIn(window.location.search), ...changed });
    navigate(wanted === '' ? path : `${path}?${wanted}`, { replace: true });
  };
  return [place, change];
}
