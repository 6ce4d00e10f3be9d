// The conformance protocol: one line of JSON in, one line of JSON out, until the input ends.
import * as verdict from './verdict.mjs';
import { readReport, admit } from './progress.mjs';
import { readLedger, breaksOf, fold } from './ledger.mjs';
import { FAULTS, fault, switchOn } from './faults.mjs';

const { Refusal, parse, parseText } = verdict;

const bytesOf = (document) => {
  if (typeof document === 'string') return Buffer.from(document);
  const text = document.get('base64');
  return Buffer.from(text, fault('CF-PROTO-5') ? 'utf8' : 'base64');
};

// A threshold is JSON text, so that 3.0 and true arrive as they are; NaN is none and not allowed.
function thresholds(request, ...names) {
  const map = new Map();
  for (const name of names) {
    const text = request.get(name) ?? null;
    if (text === null) continue;
    let value = null;
    try {
      value = fault('CF-PROTO-6') ? BigInt(Number(text)) : parseText(text);
    } catch {
      // What is no JSON stays null, and null is not allowed.
    }
    map.set(name, value);
  }
  return verdict.checkConfig(map);
}

// What a service does in turn; an answer that is not JSON is one that cannot be read.
function answerOf(document) {
  let value;
  try {
    value = parse(bytesOf(document), true);
  } catch {
    return verdict.noAnswer('unreadable');
  }
  return verdict.readAnswer(value);
}

function scripted(script, asked) {
  if (script === null) return null;
  return (text) => {
    const step = script[asked.length];
    asked.push(verdict.makeRequest(text));
    if (!step) throw new Error('the script of the service has ended');
    return step.has('answer') ? answerOf(step.get('answer')) : verdict.noAnswer(step.get('detail'));
  };
}

const OPS = {
  build(request) {
    const { max_chars: cap } = thresholds(request, 'max_chars');
    return verdict.build(parse(bytesOf(request.get('document'))), cap).state;
  },
  judge(request, asked) {
    const config = thresholds(request, 'wait_min', 'safe_max');
    const ask = scripted(request.get('service') ?? null, asked);
    return verdict.judge(parse(bytesOf(request.get('document'))), config, ask);
  },
  request: (request) => verdict.checkRequest(parse(bytesOf(request.get('document')))),
  answer(request) {
    const { asking, detail, score } = answerOf(request.get('document'));
    return detail === null ? { choice: asking.slice('said_'.length), score } : { detail };
  },
  forbidden(request) {
    verdict.checkNames(parse(bytesOf(request.get('document'))));
    return {};
  },
  read_report(request) {
    return readReport(bytesOf(request.get('document')), request.get('claim') ?? null);
  },
  admit: (request) => admit(...['status', 'integrity', 'contract', 'changed'].map((k) =>
    request.get(k))),
  fold: (request) => fold(readLedger(bytesOf(request.get('document')))),
  chain(request) {
    const lines = readLedger(bytesOf(request.get('document')));
    return { lines: lines.length, entries: lines.filter((l) => l.entry).length,
      damaged: lines.filter((l) => l.damage).map((l) => ({ line: l.number, offset: l.offset,
        length: l.raw.length, why: l.damage, ended: l.whole })),
      torn: lines.length > 0 && !lines.at(-1).whole,
      breaks: breaksOf(lines, request.get('state') ?? null) };
  },
};

const HELLO = { protocol: 1, spec: '0.1.0', name: 'verdict-core-node', version: '0.1.0',
  capabilities: Object.keys(OPS) };

let asks = 0;

function reply(line) {
  let request;
  try {
    request = parse(line);
    if (typeof request.get('id') !== 'bigint' || typeof request.get('op') !== 'string') throw 0;
  } catch {
    return { id: null, error: 'the line is no request' };
  }
  asks += 1;
  const id = fault('CF-PROTO-2') && asks > 9 ? asks : request.get('id');
  const op = request.get('op');
  if (op === 'hello') return { id, result: HELLO };
  if (!Object.hasOwn(OPS, op) && fault('CF-PROTO-12')) return { id, error: 'no operation' };
  if (!Object.hasOwn(OPS, op)) return { id, unsupported: { capability: op } };
  const asked = [];
  const beside = op === 'judge' ? { asked } : {};
  if (fault('CF-PROTO-3')) beside.error = 'none';
  try {
    return { id, result: OPS[op](request, asked), ...beside };
  } catch (e) {
    if (!(e instanceof Refusal)) return { id, error: String(e.message) };
    const path = fault('CV-ERR-1') ? '$' : e.path;
    if (fault('CF-PROTO-11') && asks % 2) return { id, result: {}, ...beside };
    return { id, refused: { code: e.code, path }, ...beside };
  }
}

if (process.argv.includes('--faults')) {
  process.stdout.write(`${JSON.stringify(FAULTS)}\n`);
  process.exit();
}
const at = process.argv.indexOf('--fault');
if (at > 0) switchOn(process.argv[at + 1]);
process.stdin.on('end', () => fault('CF-PROTO-10') && process.stdout.write('bye\n'));

// Only LF ends a line: readline would also split at U+2028, which JSON allows in a string.
let held = [];
process.stdin.on('data', (chunk) => {
  for (let start = 0; ;) {
    const lf = chunk.indexOf(10, start);
    if (lf < 0) {
      held.push(chunk.subarray(start));
      return;
    }
    const line = Buffer.concat([...held, chunk.subarray(start, lf)]);
    held = [];
    process.stdout.write(`${verdict.canonical(reply(line))}\n`);
    start = lf + 1;
  }
});
