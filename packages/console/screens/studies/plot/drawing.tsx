import { useLayoutEffect, useRef, useSyncExternalStore } from 'react';
import { usePreferences } from '../../../base/preference-store.js';

/** Steps of a drawing; between two of them, the page may respond. */
export type Draw = (context: CanvasRenderingContext2D) => Generator<void>;

interface DrawingProps {
  /** Class that gives its color. */
  readonly className: string;
  readonly width: number;
  readonly height: number;
  readonly draw: Draw;
}

const SLICE_MS = 12;

/** A canvas that is drawn in slices. What was there stays until the new drawing is done. */
export function Drawing({ className, width, height, draw }: DrawingProps) {
  const place = useRef<HTMLCanvasElement>(null);
  const [{ theme }] = usePreferences();
  const isDark = useSystemDark();
  useLayoutEffect(() => {
    const canvas = place.current;
    return canvas === null ? undefined : drawInSlices(canvas, draw, width, height);
    // The colors of the theme are in the drawing.
  }, [draw, width, height, theme, isDark]);
  return <canvas ref={place} className={className} style={{ width, height }} />;
}

/** Draws beside the canvas, and puts the slices of the first drawing and the whole of a further one on it; returns what ends it. */
function drawInSlices(canvas: HTMLCanvasElement, draw: Draw, width: number, height: number): () => void {
  const ratio = window.devicePixelRatio || 1;
  const [columns, rows] = [Math.round(width * ratio), Math.round(height * ratio)];
  const isFirst = canvas.width !== columns || canvas.height !== rows;
  if (isFirst) [canvas.width, canvas.height] = [columns, rows];
  const buffer = document.createElement('canvas');
  [buffer.width, buffer.height] = [columns, rows];
  const [shown, context] = [canvas.getContext('2d'), buffer.getContext('2d')];
  if (shown === null || context === null) return () => undefined;
  context.scale(ratio, ratio);
  context.strokeStyle = getComputedStyle(canvas).color;
  context.fillStyle = context.strokeStyle;
  const show = () => {
    shown.clearRect(0, 0, columns, rows);
    shown.drawImage(buffer, 0, 0);
  };
  const steps = draw(context);
  let frame = 0;
  const go = () => {
    const endMs = performance.now() + SLICE_MS;
    let isDone = false;
    while (!isDone && performance.now() < endMs) isDone = steps.next().done === true;
    if (isDone || isFirst) show();
    if (!isDone) frame = requestAnimationFrame(go);
  };
  go();
  return () => cancelAnimationFrame(frame);
}

const dark = window.matchMedia('(prefers-color-scheme: dark)');

function useSystemDark(): boolean {
  return useSyncExternalStore(
    (listener) => {
      dark.addEventListener('change', listener);
      return () => dark.removeEventListener('change', listener);
    },
    () => dark.matches,
  );
}
