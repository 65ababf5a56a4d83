// Variants for events: their cost for writes, delay and throughput. Changes are API calls to a real server at predefined times;
// the real rate is reported if it falls behind.

import { setTimeout as sleep } from "node:timers/promises";
import { text } from "#base/json.ts";
import { subscriptionSecretBinding, subscriptionSecretPurpose } from "#events/store";
import { addOrganization, makeGroup, type Organization } from "./callers.ts";
import type { Environment, Measure, Variant } from "./environment.ts";
import type { Fixture } from "./fixture.ts";
import { clients, sendJson } from "./load.ts";
import { startBaseline } from "./processes.ts";
import { clearSubscriptions, fillRepos, fillSubscriptions, vacuumTables, withClient } from "./seed.ts";

interface Arrived {
  readonly events: number;
  readonly firstMs: number;
  readonly lastMs: number;
  /** p95 from the event's time, which precedes its commit, to its first arrival. */
  readonly delayMs: number;
}

export interface Sink {
  readonly url: string;
  /** Returns the arrivals since the last call, once there are this many. */
  after(events: number): Promise<Arrived>;
  /** The same, once nothing has arrived for a while. */
  calm(): Promise<Arrived>;
}

/** Without a new event for this long, no more are expected. */
const patienceMs = 30_000;
const calmMs = 1_000;

export const openSink = async ({ folder, stopLater }: Pick<Environment, "folder" | "stopLater">): Promise<Sink> => {
  const { url } = stopLater(await startBaseline("sink", await folder.site("sink")));
  const readArrived = (path: string): Promise<Arrived> => sendJson("GET", `${url}${path}`, "").then((arrived) => arrived as unknown as Arrived);
  /** Waits for this many events, or until none has arrived for `quietMs`. Returns their number. */
  const count = async (enough: number, quietMs: number): Promise<number> => {
    let [seen, sinceMs] = [0, performance.now()];
    while (seen < enough && performance.now() - sinceMs < quietMs) {
      await sleep(50);
      const { events } = await readArrived("/");
      if (events > seen) [seen, sinceMs] = [events, performance.now()];
    }
    return seen;
  };
  return {
    url,
    async after(events) {
      const seen = await count(events, patienceMs);
      if (seen < events) throw new Error(`of ${events} events ${seen} came`);
      return readArrived("/afresh");
    },
    async calm() {
      await count(Number.POSITIVE_INFINITY, calmMs);
      return readArrived("/afresh");
    },
  };
};

/** Runs the vacuum that a database would run within a minute. */
const vacuumEvents = ({ database }: Fixture): Promise<void> => withClient(database, (client) => vacuumTables(client, "outbox", "subscriptions", "deliveries"));

const subscribe = async ({ process }: Fixture, group: string, authorization: string, sink: string): Promise<string> =>
  text(await sendJson("POST", `${process.url}/events/v2/subscriptions/${group}`, authorization, { sink }), "uid");

let described = 0;

/** Writes a new description. All differ, so that each is a change. */
const change = async ({ process }: Fixture, { authorization }: Organization, repos: readonly string[]): Promise<void> => {
  const number = ++described;
  await sendJson("PATCH", `${process.url}/registry/v2/repos/${repos[number % repos.length] ?? ""}?update_mask=description`, authorization, {
    description: `change ${number}`,
  });
};

const addRepos = (fixture: Fixture, group: string, count: number): Promise<string[]> =>
  withClient(fixture.database, async (client) => {
    await fillRepos(client, group, count);
    await vacuumTables(client, "repos");
    const { rows } = await client.query<{ uid: string }>("select uid from repos where uid >= $1 and uid < $2 order by uid", [`${group}/`, `${group}0`]);
    return rows.map(({ uid }) => uid);
  });

/** Runs `work` at these times (milliseconds from now), at most `clients` at once; late ones follow immediately. */
const atMoments = async (moments: readonly number[], work: () => Promise<void>): Promise<void> => {
  const beganMs = performance.now();
  let next = 0;
  const client = async (): Promise<void> => {
    for (let moment = moments[next++]; moment !== undefined; moment = moments[next++]) {
      const waitMs = beganMs + moment - performance.now();
      if (waitMs > 0) await sleep(waitMs);
      await work();
    }
  };
  await Promise.all(Array.from({ length: clients }, client));
};

/** One run yields several numbers; asking for the same one again starts the next run. */
const severalOf = <Seen>(run: (seconds: number) => Promise<Seen>): ((by: keyof Seen) => (seconds: number) => Promise<Seen[keyof Seen]>) => {
  let last: Promise<Seen> | undefined;
  const taken = new Set<keyof Seen>();
  return (by) => async (seconds) => {
    if (!last || taken.has(by)) {
      last = run(seconds);
      taken.clear();
    }
    taken.add(by);
    return (await last)[by];
  };
};

const wantedPerSecond = 500;

const preparePaced = async (environment: Environment): Promise<(seconds: number) => Promise<{ delay: number; changes: number }>> => {
  const [fixture, sink] = [await environment.delivering(), await openSink(environment)];
  const organization = await addOrganization(fixture.application, "at once", "editor");
  const repos = await addRepos(fixture, organization.uid, 1_000);
  await subscribe(fixture, organization.uid, organization.authorization, sink.url);
  await Promise.all(repos.map(() => change(fixture, organization, repos)));
  await sink.calm();
  await vacuumEvents(fixture);
  return async (seconds) => {
    const moments = Array.from({ length: Math.round(wantedPerSecond * seconds) }, (_, index) => (index * 1000) / wantedPerSecond);
    const beganMs = performance.now();
    await atMoments(moments, () => change(fixture, organization, repos));
    const tookMs = performance.now() - beganMs;
    const { delayMs } = await sink.after(moments.length);
    return { delay: delayMs / 1000, changes: (moments.length * 1000) / tookMs };
  };
};

let delays: ReturnType<typeof severalOf<{ delay: number; changes: number }>> | undefined;

const pacedVariant = (label: string, unit: Variant["unit"], by: "delay" | "changes"): Variant => ({
  label,
  unit,
  async prepare(environment) {
    if (!delays) delays = severalOf(await preparePaced(environment));
    return delays(by);
  },
});

/** Below the maximum of one replay. */
const replayed = 5_000;

const replayVariant: Variant = {
  label: `one sink, ${replayed} events sent again`,
  unit: "1/s",
  async prepare(environment): Promise<Measure> {
    const [fixture, sink] = [await environment.delivering(), await openSink(environment)];
    const organization = await addOrganization(fixture.application, "many", "editor");
    const { uid, authorization } = organization;
    const repos = await addRepos(fixture, uid, replayed);
    const since = new Date().toISOString();
    await atMoments(
      repos.map(() => 0),
      () => change(fixture, organization, repos),
    );
    const subscription = await subscribe(fixture, uid, authorization, sink.url);
    await sink.calm();
    const replay = async (): Promise<number> => {
      await sendJson("POST", `${fixture.process.url}/gantry/v1/subscriptions/${subscription}:replay`, authorization, { since });
      const { events, firstMs, lastMs } = await sink.after(replayed);
      // Deliveries are stored a little later and would otherwise count as replayed.
      await sink.calm();
      return (events * 1000) / (lastMs - firstMs);
    };
    await replay();
    await vacuumEvents(fixture);
    return replay;
  },
};

const crowd = 2_500;
const crowdChanges = 600;
/** Changes of the quiet organization, one after another. */
const quietChangesMin = 10;
const pauseMs = 100;

const besideCrowdVariant: Variant = {
  label: `commit to sink, p95, beside ${crowd} subscriptions and ${crowdChanges} changes`,
  unit: "s",
  async prepare(environment) {
    const [fixture, crowded, sink] = [await environment.delivering(), await openSink(environment), await openSink(environment)];
    const [noisy, quiet] = [await addOrganization(fixture.application, "crowd", "editor"), await addOrganization(fixture.application, "quiet", "editor")];
    const [noisyRepos, quietRepos] = [await addRepos(fixture, noisy.uid, crowdChanges), await addRepos(fixture, quiet.uid, 100)];
    const subscription = await subscribe(fixture, noisy.uid, noisy.authorization, crowded.url);
    await subscribe(fixture, quiet.uid, quiet.authorization, sink.url);
    await sink.calm();
    await vacuumEvents(fixture);
    return async (seconds) => {
      const sealFor = (uid: string): string => fixture.application.services.seal.seal(subscriptionSecretPurpose, "secret", subscriptionSecretBinding(uid));
      await withClient(fixture.database, (client) => fillSubscriptions(client, subscription, crowd - 1, sealFor));
      // More deliveries than fit the time, so that the neighbour stays busy to the end.
      await atMoments(
        noisyRepos.map(() => 0),
        () => change(fixture, noisy, noisyRepos),
      );
      const untilMs = performance.now() + seconds * 1000;
      const delays: number[] = [];
      while (delays.length < quietChangesMin || performance.now() < untilMs) {
        await sleep(pauseMs * (1 + Math.random()));
        await change(fixture, quiet, quietRepos);
        delays.push((await sink.after(1)).delayMs);
      }
      const { rows } = await withClient(fixture.database, (client) =>
        client.query<{ waiting: boolean }>("select exists (select from fan_outs where uid = $1) as waiting", [noisy.uid]),
      );
      if (rows[0]?.waiting !== true) throw new Error("the crowd's deliveries were all made before the end");
      await withClient(fixture.database, (client) => clearSubscriptions(client, subscription));
      await crowded.calm();
      return (delays.sort((one, other) => one - other)[Math.ceil(delays.length * 0.95) - 1] ?? Number.NaN) / 1000;
    };
  },
};

const subscriptions = 100;
// Measures only the write. At five per second, their 500 deliveries take two thirds of two cores, and the write takes 1.7 to 2.2
// times as long (measured).
const writesPerSecond = 1;
const writesMin = 8;

/** Returns random times, independent of each other and of earlier work. */
const unevenMoments = (count: number, perSecond: number): number[] => {
  let at = 0;
  return Array.from({ length: count }, () => (at += (-Math.log(1 - Math.random()) * 1000) / perSecond));
};

/**
 * Measures the median time of a write in a folder with this many subscriptions at or above it. The median, because a disk is
 * sometimes slow.
 */
const writeVariant = (label: string, subscriptionCount: number): Variant => ({
  label,
  unit: "ms",
  async prepare(environment) {
    const [fixture, sink] = [await environment.delivering(), await openSink(environment)];
    const organization = await addOrganization(fixture.application, `with ${subscriptionCount} subscriptions`, "editor");
    const { uid, authorization } = organization;
    const folder = await makeGroup(fixture.application, uid, "folder");
    const repos = await addRepos(fixture, folder, 100);
    for (let index = 0; index < subscriptionCount; index++) await subscribe(fixture, index % 2 === 0 ? uid : folder, authorization, `${sink.url}/${index}`);
    await sink.calm();
    await vacuumEvents(fixture);
    return async (seconds) => {
      const moments = unevenMoments(Math.max(writesMin, Math.round(writesPerSecond * seconds)), writesPerSecond);
      const tookMs: number[] = [];
      await atMoments(moments, async () => {
        const beganMs = performance.now();
        await change(fixture, organization, repos);
        tookMs.push(performance.now() - beganMs);
      });
      await sink.after(moments.length * subscriptionCount);
      return tookMs.sort((one, other) => one - other)[Math.floor(tookMs.length / 2)] ?? Number.NaN;
    };
  },
});

export const deliveryVariants: Readonly<Record<string, Variant>> = {
  delay: pacedVariant(`commit to sink, p95, at ${wantedPerSecond} changes a second`, "s", "delay"),
  changes: pacedVariant(`changes really made a second (wanted: ${wantedPerSecond})`, "1/s", "changes"),
  delivered: replayVariant,
  besideCrowd: besideCrowdVariant,
  subscribed: writeVariant(`UpdateRepo with ${subscriptions} subscriptions`, subscriptions),
  unsubscribed: writeVariant("UpdateRepo with no subscription", 0),
};
