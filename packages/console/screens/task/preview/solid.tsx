import { useQuery } from '@tanstack/react-query';
import { type KeyboardEvent, useEffect, useRef, useState } from 'react';
import { usePreferences } from '../../../base/preference-store.js';
import { NoData } from '../../../design/states.js';
import { Icon, type IconName } from '../../../icons/icon.js';
import { useWords } from '../../../words/dictionary.js';
import { numberText } from '../../../words/formats.js';
import type { PreviewedFile } from './previewed-file.js';
import { ElsewhereError, readModel } from './solid-model.js';
import { SolidStage } from './solid-stage.js';
import { de } from './words-de.js';
import { en } from './words-en.js';

const STEP = Math.PI / 12;
const NEARER = 0.8;

/** A model in 3-D. */
export function Solid({ file }: { readonly file: PreviewedFile }) {
  const query = useQuery({
    queryKey: ['preview', file.key, 'solid'],
    queryFn: async ({ signal }) => (await file.fetch(signal)).arrayBuffer(),
    staleTime: Number.POSITIVE_INFINITY,
  });
  const { data } = query;
  if (data === undefined) return <NoData query={query} lines={4} />;
  return <Stage name={file.name} content={data} />;
}

interface StageProps {
  readonly name: string;
  readonly content: ArrayBuffer;
}

function Stage({ name, content }: StageProps) {
  const words = useWords<typeof en>({ en, de });
  const place = useRef<HTMLDivElement>(null);
  const [stage, setStage] = useState<SolidStage>();
  const [fault, setFault] = useState<Error | 'lost'>();
  useEffect(() => {
    let isClosed = false;
    let made: SolidStage | undefined;
    readModel(name, content)
      .then((model) => {
        if (isClosed || place.current === null) return;
        made = new SolidStage(place.current, model, () => isClosed || setFault('lost'));
        setStage(made);
      })
      .catch(
        (error: unknown) => isClosed || setFault(error instanceof Error ? error : new Error(String(error))),
      );
    return () => {
      isClosed = true;
      made?.close();
    };
  }, [name, content]);
  if (fault !== undefined) return <StageFault fault={fault} />;
  const onKeyDown = (event: KeyboardEvent) => {
    const act = stage && KEYS[event.key];
    if (!act) return;
    event.preventDefault();
    act(stage);
  };
  return (
    <>
      <div
        className="solid"
        role="application"
        aria-label={`${name}. ${words.turn}`}
        tabIndex={0}
        onKeyDown={onKeyDown}
      >
        <div className="solid-canvas" ref={place} />
      </div>
      {stage && <StageBar stage={stage} />}
    </>
  );
}

const KEYS: Readonly<Record<string, (stage: SolidStage) => void>> = {
  ArrowLeft: (stage) => stage.turn(-STEP, 0),
  ArrowRight: (stage) => stage.turn(STEP, 0),
  ArrowUp: (stage) => stage.turn(0, STEP),
  ArrowDown: (stage) => stage.turn(0, -STEP),
  '+': (stage) => stage.zoom(NEARER),
  '-': (stage) => stage.zoom(1 / NEARER),
  0: (stage) => stage.showAll(),
};

/** Buttons for those who cannot drag, and particulars of the model. */
function StageBar({ stage }: { readonly stage: SolidStage }) {
  const words = useWords<typeof en>({ en, de });
  const [{ language }] = usePreferences();
  const { triangles, points, extent } = stage.facts;
  const format = new Intl.NumberFormat(language, { maximumSignificantDigits: 4 });
  const [x, y, z] = extent.map((each) => format.format(each)) as [string, string, string];
  const button = (icon: IconName, label: string, act: () => void) => (
    <button type="button" className="button plain only-icon" aria-label={label} title={label} onClick={act}>
      <Icon name={icon} />
    </button>
  );
  return (
    <div className="solid-bar">
      {button('chevron-left', words.turnLeft, () => stage.turn(-STEP, 0))}
      {button('chevron-right', words.turnRight, () => stage.turn(STEP, 0))}
      {button('plus', words.nearer, () => stage.zoom(NEARER))}
      {button('arrow-down', words.farther, () => stage.zoom(1 / NEARER))}
      {button('rotate-ccw', words.whole, () => stage.showAll())}
      <span className="faint numbers">
        {triangles > 0
          ? words.triangles(numberText(triangles, language))
          : words.points(numberText(points, language))}
        , {words.extent(x, y, z)}
      </span>
    </div>
  );
}

function StageFault({ fault }: { readonly fault: Error | 'lost' }) {
  const words = useWords<typeof en>({ en, de });
  return (
    <p className="notice of-failed">
      <Icon name="circle-x" />
      <span>
        {textOf(fault, words)}{' '}
        {fault instanceof Error && !(fault instanceof ElsewhereError) && (
          <span className="mono">{fault.message}</span>
        )}
      </span>
    </p>
  );
}

function textOf(
  fault: Error | 'lost',
  words: Pick<typeof en, 'gone' | 'noWebGl' | 'badSolid' | 'elsewhere'>,
): string {
  if (fault === 'lost') return words.gone;
  if (fault instanceof ElsewhereError) return words.elsewhere(fault.uris.join(', '));
  return /WebGL/.test(fault.message) ? words.noWebGl : words.badSolid;
}
