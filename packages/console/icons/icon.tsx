import { createElement } from 'react';
import { SHAPES } from './shapes.js';

export type IconName = keyof typeof SHAPES;

interface IconProps {
  readonly name: IconName;
  /** Width and height in pixels. */
  readonly size?: number;
  readonly className?: string;
}

/** A line icon in the color of the text. Words beside it, or the label of its button, say what it means. */
export function Icon({ name, size = 16, className = '' }: IconProps) {
  return (
    <svg
      className={`icon ${className}`}
      width={size}
      height={size}
      viewBox="0 0 24 24"
      fill="none"
      stroke="currentColor"
      strokeWidth="2"
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
      focusable="false"
    >
      {SHAPES[name].map(([tag, attributes]) =>
        createElement(tag, { key: JSON.stringify(attributes), ...attributes }),
      )}
    </svg>
  );
}
