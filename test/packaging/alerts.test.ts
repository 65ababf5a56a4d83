// The alert rules of deploy/monitoring, evaluated by Prometheus' own promtool: each fires on its fault, and not just below it.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { readAlerts } from "../monitoring.ts";
import { promtool } from "./judges.ts";

const rules = join(import.meta.dirname, "../../deploy/monitoring/alerts.yaml");
const folder = mkdtempSync(join(tmpdir(), "gantry-alerts-"));
after(() => rmSync(folder, { recursive: true, force: true }));

/** A metric with labels, and its values minute by minute in promtool's notation: `1x9` is ten times 1, `0+5x9` rises by 5. */
type Series = readonly (readonly [metric: string, values: string])[];

/** The alert fires at the minute with the first series, and not with the second. `also` are alerts that the first series fires besides. */
interface Case {
  readonly alert: string;
  readonly minute: number;
  readonly fires: Series;
  readonly spares: Series;
  readonly also?: readonly string[];
  /** Alerts that the second series fires. */
  readonly instead?: readonly string[];
}

const rising = (metric: string, perMinute: readonly (readonly [le: string, count: number])[]): Series =>
  perMinute.map(([le, count]) => [`${metric}{le="${le}"}`, `0+${count}x60`]);

const steady = (alert: string, minute: number, metric: string, fires: number, spares: number): Case => ({
  alert,
  minute,
  fires: [[metric, `${fires}x60`]],
  spares: [[metric, `${spares}x60`]],
});

/** Fails for longer than the alert waits, and then for a minute less. */
const dependency = (alert: string, name: string, waitMinutes: number): Case => ({
  alert,
  minute: waitMinutes + 2,
  fires: [[`gantry_dependency_failed{dependency="${name}"}`, "0 1x60"]],
  spares: [[`gantry_dependency_failed{dependency="${name}"}`, `0 1x${waitMinutes - 1} 0x60`]],
});

/** One step of a counter, and none. */
const step = (alert: string, metric: string, to = 1, spared = 0): Case => ({
  alert,
  minute: 10,
  fires: [[metric, `0x5 ${to}x60`]],
  spares: [[metric, `0x5 ${spared}x60`]],
});

const dayMinutes = 1_440;
const day = 60 * dayMinutes;

const cases: readonly Case[] = [
  { alert: "GantryDown", minute: 3, fires: [["up", "0x60"]], spares: [["up", "0x1 1x60"]] },
  { alert: "GantryAbsent", minute: 6, fires: [["up", "_x60"]], spares: [["up", "_x3 1x60"]] },
  {
    alert: "GantryRestarts",
    minute: 10,
    fires: [["process_start_time_seconds", "1 2 3 4x60"]],
    spares: [["process_start_time_seconds", "1 2 3x60"]],
  },
  {
    alert: "GantryCallsFail",
    minute: 15,
    fires: [
      ['gantry_requests_total{code="INTERNAL"}', "0+2x60"],
      ['gantry_requests_total{code="OK"}', "0+100x60"],
    ],
    spares: [
      ['gantry_requests_total{code="INTERNAL"}', "0+1x60"],
      ['gantry_requests_total{code="OK"}', "0+200x60"],
    ],
  },
  {
    // A dead database has its own alert.
    alert: "GantryCallsFail",
    minute: 15,
    fires: [
      ['gantry_requests_total{code="UNAVAILABLE"}', "0+2x60"],
      ['gantry_dependency_failed{dependency="database"}', "0x60"],
    ],
    spares: [
      ['gantry_requests_total{code="UNAVAILABLE"}', "0+2x60"],
      ['gantry_dependency_failed{dependency="database"}', "1x60"],
    ],
    instead: ["GantryDatabaseFailed"],
  },
  {
    alert: "GantryCallsSlow",
    minute: 30,
    fires: rising("gantry_request_seconds_bucket", [
      ["1", 90],
      ["2.5", 100],
      ["+Inf", 100],
    ]),
    spares: rising("gantry_request_seconds_bucket", [
      ["1", 96],
      ["2.5", 100],
      ["+Inf", 100],
    ]),
  },
  {
    alert: "GantryQueueFull",
    minute: 15,
    fires: [['gantry_queue_waiting{queue="reads"}', "1x60"]],
    spares: [['gantry_queue_waiting{queue="reads"}', "1x9 0 1x60"]],
  },
  {
    alert: "GantryRefusesForRates",
    minute: 35,
    fires: [['gantry_refusals_total{reason="RATE_LIMIT_EXCEEDED",quota="reads"}', "0+90x60"]],
    spares: [['gantry_refusals_total{reason="RATE_LIMIT_EXCEEDED",quota="reads"}', "0+50x60"]],
  },
  step("GantryQuotaFull", 'gantry_refusals_total{reason="QUOTA_EXCEEDED",quota="groups"}'),
  {
    alert: "GantryEventLoopLate",
    minute: 25,
    fires: rising("gantry_event_loop_delay_seconds_bucket", [
      ["0.25", 98],
      ["0.5", 100],
      ["+Inf", 100],
    ]),
    spares: rising("gantry_event_loop_delay_seconds_bucket", [
      ["0.25", 100],
      ["0.5", 100],
      ["+Inf", 100],
    ]),
  },
  {
    alert: "GantryMemoryHigh",
    minute: 11,
    fires: [
      ['gantry_memory_bytes{kind="resident"}', "810x60"],
      ["gantry_memory_limit_bytes", "1000x60"],
    ],
    spares: [
      ['gantry_memory_bytes{kind="resident"}', "790x60"],
      ["gantry_memory_limit_bytes", "1000x60"],
    ],
  },
  dependency("GantryMemoryFailed", "memory", 2),
  step("GantryConnectionsRefused", 'gantry_connections_refused_total{reason="address"}'),
  step("GantryDescriptorsShort", 'gantry_connections_refused_total{reason="descriptors"}'),
  dependency("GantryDatabaseFailed", "database", 1),
  dependency("GantryReplicaFailed", "replica", 5),
  steady("GantryStandbyAway", 6, 'gantry_database_hosts{state="away"}', 1, 0),
  steady("GantryStandbyBehind", 6, "gantry_standby_behind_bytes", 270_000_000, 260_000_000),
  dependency("GantryBlobStorageFailed", "blobs", 1),
  dependency("GantryClockWrong", "clock", 1),
  dependency("GantryDiskFull", "disk", 1),
  steady("GantryDiskLow", 16, 'gantry_disk_free_bytes{disk="data"}', 4.9e9, 5.1e9),
  dependency("GantryDnsFailed", "dns", 5),
  steady("GantryCertificateExpires", 5, "gantry_certificate_expiry_timestamp_seconds", 14 * day, 15 * day),
  {
    ...steady("GantryCertificateExpiresSoon", 5, "gantry_certificate_expiry_timestamp_seconds", 2 * day, 3 * day),
    also: ["GantryCertificateExpires"],
    instead: ["GantryCertificateExpires"],
  },
  step("GantryDatabaseConnectionsLost", 'gantry_log_events_total{event="store.connection.lost",level="warn"}', 6, 5),
  steady("GantryEventsUnnumbered", 6, "gantry_outbox_oldest_unnumbered_seconds", 61, 60),
  steady("GantryAuditUnsealed", 6, "gantry_audit_oldest_unsealed_seconds", 301, 300),
  steady("GantryAuditTargetBehind", 11, 'gantry_audit_target_behind_seconds{target="siem"}', 3_601, 3_600),
  steady("GantryDeliveriesLate", 11, "gantry_deliveries_oldest_due_seconds", 301, 300),
  steady("GantryDeliveryBacklog", 31, 'gantry_deliveries{state="pending"}', 5_000, 4_999),
  step("GantryDeliveriesGivenUp", 'gantry_delivery_attempts_total{outcome="dead"}'),
  steady("GantryFeedFails", 5, 'gantry_feed_failures{feed="osv",kind="osv"}', 3, 2),
  {
    alert: "GantryFeedOld",
    minute: 55,
    fires: [
      ['gantry_feed_last_success_timestamp_seconds{feed="osv",kind="osv"}', "0x60"],
      ['gantry_feed_interval_seconds{feed="osv",kind="osv"}', "600x60"],
    ],
    spares: [
      ['gantry_feed_last_success_timestamp_seconds{feed="osv",kind="osv"}', "0x60"],
      ['gantry_feed_interval_seconds{feed="osv",kind="osv"}', "1800x60"],
    ],
  },
  steady("GantryImagesUnread", 16, "gantry_images_oldest_due_seconds", 3_601, 3_600),
  steady("GantryFeedHeld", 16, 'gantry_feeds_held{reason="shrunk"}', 1, 0),
  steady("GantryFeedStale", 16, 'gantry_feeds_stale{kind="osv"}', 1, 0),
  steady("GantryFindingsOverdue", 16, 'gantry_findings_overdue{severity="critical"}', 1, 0),
  steady("GantryBackupOld", 5, "gantry_backup_last_timestamp_seconds", -2 * day, -2 * day + 600),
  step("GantryMaintenanceFails", 'gantry_maintenance_runs_total{part="outbox",outcome="failed"}', 2, 1),
  {
    alert: "GantryTracesLost",
    minute: 20,
    fires: [['gantry_trace_spans_total{outcome="dropped"}', "0+5x60"]],
    spares: [['gantry_trace_spans_total{outcome="sent"}', "0+5x60"]],
  },
  {
    alert: "GantryLogsErrors",
    minute: 10,
    fires: [['gantry_log_events_total{event="maintenance.failed",level="error"}', "0x5 1x60"]],
    spares: [['gantry_log_events_total{event="maintenance.failed",level="warn"}', "0x5 1x60"]],
  },
  {
    alert: "GantryVersionsDiffer",
    minute: 121,
    fires: [
      ['gantry_build_info{version="1.0.0"}', "1x180"],
      ['gantry_build_info{version="2.0.0"}', "1x180"],
    ],
    spares: [
      ['gantry_build_info{version="1.0.0"}', "1x110 _x60"],
      ['gantry_build_info{version="2.0.0"}', "1x180"],
    ],
  },
];

/** Adds the labels of Prometheus. */
const labelled = (metric: string): string => {
  const [, name = "", labels = ""] = /^(\w+)(?:\{(.*)\})?$/.exec(metric) ?? [];
  return `${name}{${['job="gantry"', 'instance="one:8080"', ...(labels === "" ? [] : [labels])].join(",")}}`;
};

const promtoolTest = (name: string, series: Series, minute: number, firing: readonly string[]): object => ({
  name,
  interval: "1m",
  input_series: (series.some(([metric]) => metric === "up") ? series : [...series, ["up", "1x180"] as const]).map(([metric, values]) => ({
    series: labelled(metric),
    values,
  })),
  promql_expr_test: [
    {
      expr: 'group by (alertname) (ALERTS{alertstate="firing"})',
      eval_time: `${minute}m`,
      exp_samples: firing.map((alert) => ({ labels: `{alertname="${alert}"}`, value: 1 })),
    },
  ],
});

const runPromtool = (...args: readonly string[]): { readonly status: number | null; readonly output: string } => {
  const { status, stdout, stderr } = spawnSync(promtool.program, args, { encoding: "utf8" });
  return { status, output: `${stdout}${stderr}` };
};

const runTests = (name: string, tests: readonly object[]): ReturnType<typeof runPromtool> => {
  const file = join(folder, `${name}.json`);
  writeFileSync(file, JSON.stringify({ rule_files: [rules], evaluation_interval: "1m", tests }));
  return runPromtool("test", "rules", file);
};

test("every alert rule has a case", () => {
  assert.deepEqual(
    [...new Set(cases.map(({ alert }) => alert))].sort(),
    readAlerts()
      .map(({ name }) => name)
      .sort(),
  );
});

test("promtool finds nothing wrong with the rules", { skip: promtool.missing }, () => {
  const { status, output } = runPromtool("check", "rules", "--lint=all", "--lint-fatal", rules);
  assert.equal(status, 0, output);
});

test("each alert fires on its fault alone, and not just below it", { skip: promtool.missing }, () => {
  const { status, output } = runTests(
    "rules",
    cases.flatMap(({ alert, minute, fires, spares, also = [], instead = [] }) => [
      promtoolTest(`${alert} fires`, fires, minute, [alert, ...also]),
      promtoolTest(`${alert} does not fire`, spares, minute, instead),
    ]),
  );
  assert.equal(status, 0, output);
});

test("a planted case with the wrong outcome fails", { skip: promtool.missing }, () => {
  for (const firing of [[], ["GantryDown", "GantryAbsent"]])
    assert.notEqual(runTests("planted", [promtoolTest("planted", [["up", "0x60"]], 5, firing)]).status, 0);
});
