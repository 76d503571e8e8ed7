// Second script of the job: draws motion.svg from motion.csv, energy-balance.csv and summary.json.

const fs = require('node:fs');

const WIDTH = 900;
const LEFT = 86;
const RIGHT = 28;
const HEAD = 84; // above the first panel
const PANEL = 214; // from one panel to the next
const PLOT = 138; // the height of a panel's plot
const COLOR = {
  blue: '#1f6fb2',
  orange: '#d9730d',
  green: '#2e8b57',
  theory: '#111827',
  text: '#1f2937',
  grid: '#e5e7eb',
};

const summary = JSON.parse(fs.readFileSync('summary.json', 'utf8'));
const motion = readCsv('motion.csv');
const energy = readCsv('energy-balance.csv');

// The last two whole revolutions, against the crank angle.
const lastAngle = motion.at(-1).crank_angle_deg;
const firstAngle = Math.max(0, Math.floor(lastAngle / 360) - 2) * 360;
const cycle = motion
  .map((row) => ({ ...row, angle: row.crank_angle_deg - firstAngle }))
  .filter(({ angle }) => angle >= 0 && angle <= 720);
const timeAxis = { label: 'time [s]', from: 0, to: summary.simulatedSeconds };
const angleAxis = {
  label: 'crank angle [°], last two revolutions; 0° is top dead center',
  from: 0,
  to: 720,
  step: 90,
};
const line = (name, color, rows, x, y) => ({ name, color, points: rows.map((row) => [x(row), y(row)]) });
const dots = (name, y) => ({
  name,
  color: COLOR.theory,
  isDotted: true,
  points: cycle.filter((_, index) => index % 5 === 0).map((row) => [row.angle, y(row)]),
});

const panels = [
  {
    title: 'Crank speed',
    x: timeAxis,
    label: 'speed [rpm]',
    series: [
      line(
        'simulated',
        COLOR.blue,
        motion,
        (row) => row.time_s,
        (row) => row.crank_speed_rpm,
      ),
    ],
  },
  {
    title: 'Piston position',
    x: angleAxis,
    label: 'above crank axis [mm]',
    series: [
      line(
        'simulated',
        COLOR.blue,
        cycle,
        (row) => row.angle,
        (row) => 1000 * row.piston_position_m,
      ),
      dots('exact kinematics', (row) => 1000 * exactPosition(row)),
    ],
  },
  {
    title: 'Piston acceleration',
    x: angleAxis,
    label: 'acceleration [m/s²]',
    series: [
      line(
        'simulated',
        COLOR.orange,
        cycle,
        (row) => row.angle,
        (row) => row.piston_acceleration_m_s2,
      ),
      dots('theory at constant speed', exactAcceleration),
    ],
  },
  {
    title: 'Energy balance',
    x: timeAxis,
    label: 'energy [kJ]',
    series: [
      line(
        'work of the motor',
        COLOR.blue,
        energy,
        (row) => row.time_s,
        (row) => row.work_put_in_J / 1000,
      ),
      line(
        'kinetic',
        COLOR.green,
        energy,
        (row) => row.time_s,
        (row) => row.kinetic_J / 1000,
      ),
      line(
        'dissipated',
        COLOR.orange,
        energy,
        (row) => row.time_s,
        (row) => row.dissipated_J / 1000,
      ),
    ],
  },
];

fs.writeFileSync('motion.svg', drawing(panels));
println('wrote motion.svg');

function drawing(all) {
  const height = HEAD + all.length * PANEL;
  const residual = (1000 * summary.maxEnergyResidual_J).toPrecision(2);
  const error = (1e6 * summary.maxPositionError_m).toPrecision(2);
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}"`,
    ` font-family="Helvetica, Arial, 'Liberation Sans', sans-serif" font-size="13" fill="${COLOR.text}">`,
    '<title>Motion of a slider-crank mechanism</title>',
    `<rect width="${WIDTH}" height="${height}" fill="white"/>`,
    text(
      LEFT,
      32,
      `Slider-crank mechanism run up to ${summary.crankSpeedRpm} rpm`,
      'font-size="20" font-weight="bold"',
    ),
    text(
      LEFT,
      54,
      `crank radius ${mm(summary.crankRadius_m)}, rod ${mm(summary.rodLength_m)}; ` +
        `kinematics exact to ${error} µm, energy balance closed to ${residual} mJ`,
      'fill="#6b7280"',
    ),
    ...all.map((panel, index) => drawPanel(panel, HEAD + index * PANEL + 16)),
    '</svg>\n',
  ].join('\n');
}

function drawPanel({ title, x, label, series }, top) {
  const values = series.flatMap(({ points }) => points.map(([, y]) => y));
  const yTicks = ticks(...extent(values));
  const xTicks = x.step ? steps(x.from, x.to, x.step) : ticks(x.from, x.to).filter((tick) => tick <= x.to);
  const [yFrom, yTo] = [yTicks[0], yTicks.at(-1)];
  const bottom = top + PLOT;
  const right = WIDTH - RIGHT;
  const toX = (value) => LEFT + ((value - x.from) / (x.to - x.from)) * (right - LEFT);
  const toY = (value) => bottom - ((value - yFrom) / (yTo - yFrom)) * PLOT;
  const stroke = `stroke="${COLOR.grid}"`;
  return [
    text(LEFT, top - 10, title, 'font-weight="bold" font-size="14"'),
    ...legend(series, right, top - 10),
    ...yTicks.map((tick) => `<path d="M${LEFT} ${px(toY(tick))}H${right}" ${stroke}/>`),
    ...yTicks.map((tick) => text(LEFT - 8, toY(tick) + 4, number(tick), 'text-anchor="end"')),
    ...xTicks.map((tick) => `<path d="M${px(toX(tick))} ${top}V${bottom}" ${stroke}/>`),
    ...xTicks.map((tick) => text(toX(tick), bottom + 18, number(tick), 'text-anchor="middle"')),
    `<rect x="${LEFT}" y="${top}" width="${right - LEFT}" height="${PLOT}" fill="none" stroke="#9ca3af"/>`,
    text((LEFT + right) / 2, bottom + 36, x.label, 'text-anchor="middle"'),
    `<text transform="translate(22 ${top + PLOT / 2}) rotate(-90)" text-anchor="middle">${label}</text>`,
    ...series.map((one) => drawSeries(one, toX, toY)),
  ].join('\n');
}

function drawSeries({ points, color, isDotted }, toX, toY) {
  const onPage = points.map(([x, y]) => [toX(x), toY(y)]);
  if (isDotted) {
    const circles = onPage.map(([x, y]) => `<circle cx="${px(x)}" cy="${px(y)}" r="2.6"/>`);
    return `<g fill="none" stroke="${color}">${circles.join('')}</g>`;
  }
  const path = thinned(onPage).map(([x, y]) => `${px(x)} ${px(y)}`);
  return `<path d="M${path.join('L')}" fill="none" stroke="${color}" stroke-width="1.6" stroke-linejoin="round"/>`;
}

/** The first, lowest, highest and last of the points on each half pixel; the drawn line is the same. */
function thinned(points) {
  const columns = new Map();
  for (const point of points) {
    const column = Math.round(2 * point[0]);
    if (columns.has(column)) columns.get(column).push(point);
    else columns.set(column, [point]);
  }
  return [...columns.values()].flatMap((column) => {
    const low = column.reduce((least, point) => (point[1] < least[1] ? point : least));
    const high = column.reduce((most, point) => (point[1] > most[1] ? point : most));
    const kept = new Set([column[0], low, high, column.at(-1)]);
    return column.filter((point) => kept.has(point));
  });
}

function legend(series, right, y) {
  let x = right;
  return series.toReversed().map(({ name, color, isDotted }) => {
    x -= 7 * name.length + 40;
    const mark = isDotted
      ? `<circle cx="${x + 10}" cy="${y - 4}" r="2.6" fill="none" stroke="${color}"/>`
      : `<path d="M${x} ${y - 4}h20" stroke="${color}" stroke-width="2.4"/>`;
    return `${mark}${text(x + 26, y, name, '')}`;
  });
}

/** Four to eight round numbers that cover `from` to `to`. */
function ticks(from, to) {
  const rough = (to - from || 1) / 5;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((factor) => factor * power).find((candidate) => candidate >= rough);
  return steps(Math.floor(from / step + 1e-9) * step, Math.ceil(to / step - 1e-9) * step, step);
}

function steps(from, to, step) {
  return Array.from({ length: Math.round((to - from) / step) + 1 }, (_, index) => from + index * step);
}

function extent(values) {
  return values.reduce(
    ([low, high], value) => [Math.min(low, value), Math.max(high, value)],
    [Infinity, -Infinity],
  );
}

function text(x, y, content, attributes) {
  return `<text x="${px(x)}" y="${px(y)}" ${attributes}>${content}</text>`;
}

function px(value) {
  return Number(value.toFixed(1));
}

function number(value) {
  return Number(value.toPrecision(6)).toString().replace('-', '\u2212');
}

function mm(metres) {
  return `${Number((1000 * metres).toPrecision(4))} mm`;
}

function exactPosition({ crank_angle_deg }) {
  const angle = (crank_angle_deg * Math.PI) / 180;
  const { crankRadius_m: r, rodLength_m: l } = summary;
  return r * Math.cos(angle) + Math.sqrt(l ** 2 - (r * Math.sin(angle)) ** 2);
}

/** Second derivative of the position with respect to the angle, times the squared speed. */
function exactAcceleration({ crank_angle_deg, crank_speed_rpm }) {
  const angle = (crank_angle_deg * Math.PI) / 180;
  const speed = (crank_speed_rpm * 2 * Math.PI) / 60;
  const { crankRadius_m: r, rodLength_m: l } = summary;
  const root = Math.sqrt(l ** 2 - (r * Math.sin(angle)) ** 2);
  const swing = Math.cos(2 * angle) / root + (r * Math.sin(angle) * Math.cos(angle)) ** 2 / root ** 3;
  return -(speed ** 2) * (r * Math.cos(angle) + r ** 2 * swing);
}

function readCsv(name) {
  const [head, ...rows] = fs.readFileSync(name, 'utf8').trim().split('\n');
  const columns = head.split(',');
  return rows.map((row) => {
    const values = row.split(',');
    return Object.fromEntries(columns.map((column, index) => [column, Number(values[index])]));
  });
}
