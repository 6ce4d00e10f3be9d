// The progress half: reading a report, admission.
import { fault } from './faults.mjs';

// Each list grows worse to the right; the second word is what a label without a value counts as.
const LABELS = {
  Status: { values: ['complete', 'incomplete', 'blocked'], none: 'incomplete' },
  Integrity: { values: ['clean', 'suspect', 'violation'], none: 'suspect' },
  Contract: { values: ['aligned', 'unknown', 'needs_revision', 'invalid'], none: 'unknown' },
};
const UNDECLARED = { Status: 'no_status_line', Integrity: 'integrity_undeclared',
  Contract: 'contract_undeclared' };
const NAMES = { status: 'Status', integrity: 'Integrity', 'contract audit': 'Contract',
  claim: 'Claim', missing: 'Missing', evidence: 'Evidence' };
const LABEL = '(status|integrity|contract[ \\t]+audit|claim|missing|evidence)';
const STRICT = new RegExp('^ {0,3}(?:(?:[-+*]|\\d{1,9}[.)])(?: {1,4}|\\t)|#{1,6}[ \\t]+)?[*_`]*'
  + LABEL + '[*_`]*[ \\t]*[:\\uff1a]([^]*)$', 'i');
const LOOSE = new RegExp('^(?:[\\s*_`+#>|\\\\-]|\\d{1,9}[.)]|\\[[ x]\\])*'
  + LABEL.replace('\\t', '\\t_') + '[\\s*_`]*:([^]*)$', 'i');
const MARK = /^[ \t]*(?:(?:[-+*]|\d{1,9}[.)])(?:[ \t]+|$))?/;
const HEADING = /^ {0,3}#{1,6}(?:[ \t]|$)/;
const TAGS = 'blockquote|code|pre|script|style|template|textarea|thinking|think';

const bare = (s) => s.replace(/^[ \t*_`]+|[ \t*_`]+$/g, '');
const named = (s) => NAMES[lower(s).replace(/[ \t_]+/, ' ')];
const lower = (s) => s.replace(/[A-Z]/g, (c) => c.toLowerCase());
// A line as a reader sees it who overlooks colours, invisible and combining characters.
const overlooked = (s) => s.normalize('NFKD').replace(/\u001b\[[0-9;]*[A-Za-z]/g, '')
  .replace(/[\p{M}\p{Cf}\ufffd]|(?!\t)\p{Cc}/gu, '');

function label(line) {
  const strict = STRICT.exec(line);
  if (strict) return { name: named(strict[1]), value: bare(strict[2]), sure: true };
  const loose = LOOSE.exec(overlooked(line));
  if (fault('PG-REPORT-10') && /\S/.test(line) && !loose) {
    return { name: 'Status', value: 'blocked', sure: true };
  }
  return loose && { name: named(loose[1]), value: bare(loose[2]),
    sure: Boolean(fault('PG-REPORT-9')) };
}

// Columns of the leading white space; a tab goes to the next multiple of four.
function columns(text) {
  let n = 0;
  for (const c of text) {
    if (c === ' ') n += 1;
    else if (c === '\t') n += 4 - (n % 4);
    else break;
  }
  return n;
}

// Each line with its standing: 'read', 'doubt' or 'unread'.
export function standings(text) {
  const ends = fault('PG-REPORT-2') ? /\n/ : /\r\n|\n|\r/;
  const lines = text.replace(/^\ufeff/, '').split(ends);
  let fence = null;
  let below = false;
  let lost = false;
  let html = null;
  return lines.map((line) => {
    const blank = /^[ \t]*$/.test(line);
    const indent = columns(line);
    const give = (standing) => {
      const inDoubt = standing === 'doubt' || lost || html !== null;
      return { line, standing: standing === 'unread' ? 'unread'
        : inDoubt ? 'doubt' : 'read' };
    };
    if (fence) {
      if (!blank && indent < fence.column) {
        lost = true;
        fence = null;
      } else {
        const end = /^[ \t]*(`{3,}|~{3,})[ \t]*$/.exec(line);
        if (end && end[1][0] === fence.mark[0] && end[1].length >= fence.mark.length
          && indent - fence.column < 4) fence = null;
        return give('unread');
      }
    }
    const marks = /^(?:[ \t]*(?:[-+*]|\d{1,9}[.)])(?=[ \t]))*/.exec(line)[0];
    const rest = line.slice(marks.length);
    const open = /^[ \t]*(`{3,}(?!.*`)|~{3,})/.exec(rest);
    if (open && !fault('PG-REPORT-7')) {
      const column = columns(marks.replace(/[^\t]/g, ' ') + rest);
      // A plain fence has column 0; nothing stands left of it.
      const inner = marks !== '' || column > 3 ? column : 0;
      fence = { mark: open[1], column: inner };
      return give('unread');
    }
    if (/^[ \t]*>/.test(rest) && (marks || indent < 4) && !fault('PG-REPORT-6')) {
      below = true;
      return give('unread');
    }
    if (blank) below = false;
    if (indent > 3 && html === null && !fault('PG-REPORT-6')) return give('unread');
    const before = html;
    if (!fault('PG-REPORT-8')) html = insideHtml(line, html);
    // One that begins within a line ends with its paragraph, as CommonMark has it.
    if (html && blank && html.inline) html = null;
    const touched = before !== null || html !== null;
    if (indent > 3 && !fault('PG-REPORT-6')) return give('unread');
    return give(below || touched ? 'doubt' : 'read');
  });
}

function insideHtml(line, open) {
  let rest = line;
  for (;;) {
    if (open === null) {
      const found = new RegExp(`<(!--|(?:${TAGS})(?=[\\s>/]|$))`, 'i').exec(rest);
      if (!found) return null;
      const lead = line.slice(0, line.length - rest.length + found.index);
      open = { tag: lower(found[1]), inline: lead.replace(MARK, '').trim() !== '' };
      rest = rest.slice(found.index + found[0].length);
    }
    const end = open.tag === '!--' ? '-->' : `</${open.tag}`;
    const at = lower(rest).indexOf(end);
    if (at < 0) return open;
    rest = rest.slice(at + end.length);
    open = null;
  }
}

const isBlank = (line) => /^[ \t]*$/.test(line);
const isMarked = (line) => MARK.exec(line)[0].trim() !== '';

// One item, or none: a line without its first list mark.
function itemOf(line) {
  const value = line.replace(fault('PG-REPORT-16') ? '' : MARK, '').replace(/^[ \t]+|[ \t]+$/g, '');
  return ['', 'none', 'n/a', '-'].includes(lower(bare(value))) ? [] : [value];
}

// What stands below `Missing`: lines of any standing, which no control line ends.
function missingOf(lines) {
  const items = [];
  let open = false;
  let fresh = false;
  let apart = false;
  let marked = false;
  for (const { line, own, found } of lines) {
    const ownLabel = found && own;
    if (open && ownLabel && isMarked(line) && !marked) items.push(...itemOf(line));
    if (found?.name === 'Missing') {
      fresh = found.value === '' || (open && fresh);
      open = true;
      apart = false;
      marked = isMarked(line);
      items.push(...itemOf(found.value));
    } else if (!open) continue;
    else if (isBlank(line)) {
      open = fresh;
      apart = true;
    } else if (ownLabel) open = found.name !== 'Evidence';
    else if ((own && HEADING.test(line)) || (apart && !isMarked(line))) open = false;
    else {
      fresh = false;
      apart = false;
      items.push(...itemOf(line));
    }
  }
  return items;
}

// The items below each `Evidence`: only lines of the report's own.
function evidenceOf(lines) {
  const all = [];
  let items = null;
  let fresh = false;
  let apart = false;
  for (const { line, own, found } of lines) {
    const blank = isBlank(line);
    const ends = blank ? !fresh
      : found || (own && HEADING.test(line)) || (apart && !isMarked(line));
    if (ends) items = null;
    if (found?.name === 'Evidence') {
      items = itemOf(found.value);
      fresh = found.value === '';
      apart = false;
      all.push(items);
    } else if (blank) apart = true;
    else if (items && own) {
      fresh = false;
      apart = false;
      items.push(...itemOf(line));
    }
  }
  return all;
}

// `claim` is the digest of the claim that was asked about, or null.
export function readReport(bytes, claim = null) {
  const text = new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes)
    .replaceAll(fault('PG-REPORT-15') ? '\ufffd' : /$^/g, '');
  const lines = standings(text).map(({ line, standing }) => {
    const found = standing === 'unread' ? null : label(line);
    return { line, found, own: standing === 'read' && (!found || found.sure) };
  });
  const given = { Status: [], Integrity: [], Contract: [], Claim: [] };
  for (const { found, own } of lines) given[found?.name]?.push({ value: found.value, sure: own });
  const reasons = [];
  const read = {};
  for (const name of Object.keys(LABELS)) read[name] = settle(name, given[name], reasons);
  const missing = missingOf(lines);
  const evidence = evidenceOf(lines);
  const complete = read.Status === 'complete';
  if (complete && missing.length && !fault('PG-REPORT-11')) {
    read.Status = 'incomplete';
    reasons.push('complete_with_missing');
  }
  if (complete && evidence.some((items) => !items.length) && !fault('PG-REPORT-12')) {
    read.Status = 'incomplete';
    reasons.push('complete_without_evidence');
  }
  const digests = given.Claim.map((c) => lower(c.value))
    .filter((v) => /^(sha256:|[0-9a-f]{32,}$)/.test(v));
  if (new Set(digests).size > 1) reasons.push('conflicting_control_lines:Claim');
  if (claim !== null && digests.length && digests[0] !== claim) reasons.push('claim_mismatch');
  if (reasons.some((r) => /Claim|claim_/.test(r)) && !fault('PG-REPORT-13')) {
    read.Status = 'blocked';
  }
  if (fault('PG-REPORT-17')) reasons.reverse();
  return { status: read.Status, integrity: read.Integrity, contract: read.Contract, reasons,
    evidence: evidence.flat(), missing, claim: digests[0] ?? null };
}

function settle(name, given, reasons) {
  const { values, none } = LABELS[name];
  const counting = [];
  const words = new Set();
  for (const { value, sure } of given) {
    const word = fault('PG-REPORT-3') ? lower(value).split(/[^a-z_]/)[0] : lower(value);
    const known = values.includes(word) && !(fault('PG-REPORT-1') && word === 'violation');
    const meant = known ? word : none;
    if (!sure && word === values[0] && !fault('PG-REPORT-9')) continue;
    words.add(known ? word : `${word}?`);
    counting.push(meant);
  }
  const odd = [...words].filter((word) => word.endsWith('?'));
  if (odd.length === words.size) reasons.push(UNDECLARED[name]);
  if (given.length && !counting.length) reasons.push(`line_in_doubt:${name}`);
  if (odd.length) reasons.push(`value_not_in_set:${name}`);
  if (words.size > 1) reasons.push(`conflicting_control_lines:${name}`);
  if (!counting.length) return fault('PG-REPORT-4') ? values[0] : none;
  if (fault('PG-REPORT-5')) return counting[0];
  return counting.reduce((a, b) => (values.indexOf(b) > values.indexOf(a) ? b : a));
}

// --- admission ------------------------------------------------------------------------------

export function admit(status, integrity, contract, changed) {
  const reasons = [];
  if (changed) reasons.push('workspace_changed');
  if (status !== 'complete') reasons.push(`status_${status}`);
  if (integrity !== 'clean') reasons.push(`integrity_${integrity}`);
  if (contract !== 'aligned') reasons.push('contract_not_aligned');
  const final = { status, integrity, contract };
  if (status === 'blocked' && fault('PG-ADMIT-5')) final.status = 'incomplete';
  if (changed && !fault('PG-ADMIT-3')) {
    final.status = 'blocked';
    final.integrity = 'violation';
  } else if (status === 'complete' && !fault('PG-ADMIT-2')
    && (integrity === 'violation' || contract !== 'aligned')) final.status = 'incomplete';
  const good = fault('PG-ADMIT-1') ? status === 'complete' && !changed : reasons.length === 0;
  if (fault('PG-ADMIT-4')) reasons.splice(1);
  return { ...final, outcome: good ? 'progress' : 'evidence', reasons };
}
