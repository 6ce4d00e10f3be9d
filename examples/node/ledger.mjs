// The ledger: what a line is, the fold of all lines, and the chain.
import { canonical, closed, parse, sha256, Refusal } from './verdict.mjs';
import { fault } from './faults.mjs';

const LIMIT = 1024 * 1024;
const fail = (path) => {
  throw new Refusal('bad_value', path, 'not what stands here');
};
const test = (good) => (v, path) => {
  if (!good(v)) fail(path);
};
const text = test((v) => typeof v === 'string');
const filled = test((v) => typeof v === 'string' && v !== '');
const match = (re) => test((v) => typeof v === 'string' && re.test(v));
const oneOf = (...words) => test((v) => words.includes(v));
const size = test((v) => typeof v === 'bigint' && v >= 0n && v < 2n ** 53n);
const place = test((v) => typeof v === 'bigint' && v > 0n && v < 2n ** 53n);
const list = (shape) => (v, path) => {
  if (!Array.isArray(v)) fail(path);
  v.forEach((x) => shape(x, path));
};
const orNull = (shape) => (v, path) => v === null || shape(v, path);
const digest = match(/^sha256:[0-9a-f]{64}$/);
const hex = match(/^[0-9a-f]{64}$/);
const print = closed({ count: size, digest });
const values = (shape) => closed({ status: shape, integrity: shape, contract: shape });

const common = { format: oneOf('verdict-core/ledger/1'), kind: oneOf('claim', 'ruling'),
  number: place, time: test((v) => fault('PG-ENTRY-3') || (typeof v === 'string' &&
    /^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])T([01]\d|2[0-3]):[0-5]\d:([0-5]\d|60)(\.\d+)?Z$/.test(v))),
  run: filled, claim: filled, claim_digest: digest, scope: filled, fingerprinted: filled,
  ignored: list(filled), verifier: list(text), before: orNull(print), prev: hex, hash: hex };
const claimShape = closed({ ...common });
const rulingShape = closed({ ...common, claim_number: place, after: orNull(print),
  changed: list(closed({ path: filled, change: filled })),
  evidence_gaps: list(closed({ path: filled, why: filled })),
  declared: values(orNull(filled)), final: values(filled), outcome: oneOf('progress', 'evidence'),
  reasons: list(filled), evidence: list(filled), missing: list(filled),
  report: orNull(closed({ text, length: size, digest })),
  counts: closed({ changed: size, evidence: size, evidence_gaps: size, missing: size }) });

export function entryHash(entry) {
  const rest = new Map(entry);
  if (!fault('PG-ENTRY-2')) rest.delete('hash');
  return sha256(canonical(rest));
}

// { entry } for a line that is one, else { damage, json }; json: whole JSON that is no entry.
export function readLine(bytes, first) {
  let at = 0;
  let end = bytes.length;
  if (first && bytes.subarray(0, 3).equals(Buffer.from([0xef, 0xbb, 0xbf]))) at = 3;
  if (end > at && bytes[end - 1] === 13 && !fault('PG-READ-4')) end -= 1;
  const body = bytes.subarray(at, end);
  if (body.length === 0) return { damage: 'blank', json: false };
  if (body.length > LIMIT && !fault('PG-ENTRY-4')) return { damage: 'oversize', json: false };
  let value;
  try {
    value = parse(body);
  } catch {
    return { damage: 'not_json', json: false };
  }
  try {
    if (!(value instanceof Map)) fail('$');
    if (canonical(value) !== body.toString()) fail('$');
    (value.get('kind') === 'ruling' ? rulingShape : claimShape)(value, '$');
  } catch {
    if (!fault('PG-ENTRY-1')) return { damage: 'not_an_entry', json: true };
  }
  const good = entryHash(value) === value.get('hash') || fault('PG-READ-2');
  if (!good) return { damage: 'hash', json: true };
  const ofClaim = value.get('claim_digest') === `sha256:${sha256(value.get('claim'))}`;
  return ofClaim ? { entry: value } : { damage: 'not_an_entry', json: true };
}

export function readLedger(bytes) {
  const lines = [];
  for (let at = 0; at < bytes.length;) {
    let lf = bytes.indexOf(10, at);
    const whole = lf >= 0;
    if (!whole) lf = bytes.length;
    const raw = bytes.subarray(at, lf);
    const line = readLine(raw, at === 0);
    if (line.damage && fault('PG-READ-3')) break;
    lines.push({ raw, whole, offset: at, number: lines.length + 1, ...line });
    at = lf + 1;
  }
  return lines;
}

const ZEROS = '0'.repeat(64);

// Every place where the chain is broken, the first one first. After a line that is no entry
// only the number can be compared: what stood there is not known.
export function breaksOf(lines, state) {
  const breaks = [];
  let expected = 0;
  for (const [i, line] of lines.entries()) {
    const { entry } = line;
    const add = (flaw) => breaks.push({ line: i + 1, flaw });
    expected += 1;
    if (entry) {
      const before = i === 0 ? ZEROS : sha256(lines[i - 1].raw);
      const known = i === 0 || lines[i - 1].entry;
      if (known && entry.get('prev') !== before && !fault('PG-LEDGER-3')) add('prev');
      if (Number(entry.get('number')) !== expected) add('number');
      expected = Number(entry.get('number'));
      continue;
    }
    // In the bytes, since a damaged line vouches too.
    const vouched = !fault('PG-AUDIT-3')
      && lines[i + 1]?.raw.includes(`"prev":"${sha256(line.raw)}"`);
    // Without its LF it is torn, unless only the LF became another byte.
    const { raw } = line;
    const torn = i === lines.length - 1 && !line.whole
      && !(raw.at(-1) !== 0 && readLine(raw.subarray(0, -1), i === 0).entry);
    if ((line.json || !(vouched || torn)) && !fault('PG-AUDIT-4')) add('altered');
  }
  // What state.json covers and the ledger does not hold was cut away.
  if (state && Number(state.get('number')) > 0 && !fault('PG-AUDIT-2')) {
    const line = state.get('number');
    const covered = lines.some(({ entry }) => entry?.get('number') === line
      && entry.get('hash') === state.get('hash'));
    if (!covered) breaks.push({ line: Number(line), flaw: 'cut' });
  }
  return breaks;
}

export function fold(lines) {
  const rounds = new Map();
  const stands = new Map();
  for (const { entry } of lines) {
    if (!entry) continue;
    const ruling = entry.get('kind') === 'ruling';
    const number = Number(entry.get(ruling ? 'claim_number' : 'number'));
    const key = JSON.stringify([entry.get('claim'), entry.get('scope')]);
    if (!ruling) {
      if (!rounds.get(number)?.ruling) rounds.set(number, { number, key, entry, ruling: null });
      continue;
    }
    const round = rounds.get(number) ?? { number, key, entry };
    round.ruling = entry;
    rounds.delete(number);
    rounds.set(number, round);
    const old = stands.get(key);
    if (!fault('PG-STATE-1') || !old || old.get('time') < entry.get('time')) {
      stands.delete(key);
      stands.set(key, entry);
    }
  }
  const is = (r, outcome) => r.ruling && r.ruling.get('outcome') === outcome;
  const all = [...rounds.values()];
  const waiting = all.filter((r) => !r.ruling).sort((a, b) => a.number - b.number);
  const numbers = (good) => all.filter(good).map((r) => r.number);
  const standing = fault('PG-STATE-4') ? all.filter((r) => r.ruling).map((r) => r.ruling)
    : [...stands.values()].sort((a, b) => Number(a.get('number') - b.get('number')));
  const last = lines.findLast((l) => l.entry)?.entry;
  const pick = (e, ...keys) => Object.fromEntries(keys.map((k) => [k, e.get(k)]));
  return { number: last ? last.get('number') : 0, hash: last ? last.get('hash') : ZEROS,
    pending: waiting.map((r) => ({ round: r.number,
      ...pick(r.entry, 'time', 'claim', 'scope') })),
    verified_rounds: numbers((r) => is(r, 'progress')),
    rejected_rounds: numbers((r) => is(r, 'evidence') || (!r.ruling && fault('PG-STATE-2'))),
    standing: standing.map((e) => ({ round: e.get('claim_number'),
      digest: e.get('after')?.get('digest') ?? null,
      ...pick(e, 'number', 'claim', 'claim_digest', 'scope', 'fingerprinted', 'ignored',
        'outcome', 'reasons', 'missing') })),
    open_items: standing.filter((e) => e.get('outcome') === 'evidence' || fault('PG-STATE-5'))
      .flatMap((e) => e.get('missing').map((item) =>
        ({ round: e.get('claim_number'), item }))) };
}
