import { useMemo } from 'react';
import { useLocation, useSearch } from 'wouter';
import { placeIn, type StudyPlace, searchOf } from './place.js';

/** The place that the address names, and what changes a part of it. The address is replaced, so that *Back* leaves the study. */
export function useStudyPlace(): readonly [StudyPlace, (change: Partial<StudyPlace>) => void] {
  const search = useSearch();
  const [path, navigate] = useLocation();
  const place = useMemo(() => placeIn(search), [search]);
  const change = (changed: Partial<StudyPlace>) => {
    const wanted = searchOf({ ...placeIn(window.location.search), ...changed });
    navigate(wanted === '' ? path : `${path}?${wanted}`, { replace: true });
  };
  return [place, change];
}
