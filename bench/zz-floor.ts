import { createServer } from "node:http";
import pg from "pg";
import { readFileSync } from "node:fs";
import { serve, enter, placeOf } from "./ground.ts";
import { wrk, pgbench } from "./load.ts";
const dir="/tmp/lab"; const orgs=JSON.parse(readFileSync(`${dir}/orgs.json`,"utf8"));
const site={data:`${dir}/data`, url:"http://127.0.0.1:18999", port:18999};
const server=await serve(site as any); const open=await enter(site as any); const place=await placeOf(site as any);
const [r]=await open.house.store.read.query("select identity_uid from role_bindings where left(uid,-17)=$1",[orgs[100]]);
const auth="Bearer "+await open.house.authn.mint({uid:String(r?.[0]), audience:[open.house.publicUrl]});
const res=await (await fetch(site.url+"/registry/v2/repos",{headers:{authorization:auth}})).text();
console.log("body bytes", res.length);
const uid=orgs[100], root=uid;
const cols="uid, name, description, catalog_tier, bundles, aliases, active_tags, sync_config, custom_overlay, create_time, update_time";
const page=`select ${cols} from repos where uid >= $2 and uid < $3 order by uid limit $4 offset $5`;
const count=`(select count(*) from repos where uid >= $2 and uid < $3)`, ver=`(select version from access_versions where root = $1)`;
const sql:Record<string,string>={
 now:`select ${ver}, ${count}, t.* from (values (1)) as always left join (${page}) as t on true`,
 nocount:`select ${ver}, null::bigint, t.* from (values (1)) as always left join (${page}) as t on true`,
 agg_doc:`select ${ver}, ${count}, (select string_agg(doc, ',') from (select doc from lab_docs where uid >= $2 and uid < $3 order by uid limit $4 offset $5) as t)`,
 rows_doc:`select ${ver}, ${count}, t.* from (values (1)) as always left join (select uid, doc from lab_docs where uid >= $2 and uid < $3 order by uid limit $4 offset $5) as t on true`,
 agg_json:`select ${ver}, ${count}, (select json_agg(t)::text from (${page}) as t)`,
 agg_record:`select ${ver}, ${count}, (select string_agg(t::text, E'\\n') from (${page}) as t)`,
 agg_concat:`select ${ver}, ${count}, (select string_agg(concat_ws(E'\\x1f', ${cols}), E'\\n') from (${page}) as t)`,
 agg_build:`select ${ver}, ${count}, (select string_agg(concat('{"uid":"', uid, '","name":', to_json(name), case when description = '' then '' else ',"description":' || to_json(description) end, case when catalog_tier = 'CATALOG_TIER_UNSPECIFIED' then '' else ',"catalogTier":"' || catalog_tier || '"' end, case when bundles = '[]' then '' else ',"bundles":' || bundles end, case when aliases = '[]' then '' else ',"aliases":' || aliases end, case when active_tags = '[]' then '' else ',"activeTags":' || active_tags end, ',"sync_config":' || sync_config, ',"customOverlay":' || custom_overlay, ',"createTime":"', to_char(create_time, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), '","updateTime":"', to_char(update_time, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), '"}'), ',') from (${page}) as t)`,
};
{ const c=new pg.Client({...place,ssl:false} as any); await c.connect(); await c.query("drop table if exists lab_docs; create table lab_docs (uid text collate \"C\" primary key, doc text)");
  await c.query("insert into lab_docs select uid, json_build_object('uid',uid,'name',name,'description',description,'catalogTier',catalog_tier,'bundles',bundles,'activeTags',active_tags,'createTime',create_time,'updateTime',update_time)::text from repos"); await c.query("vacuum analyze lab_docs"); await c.end(); }
const asIs=(t:string)=>t;
const lanes=await Promise.all(Array.from({length:Number(process.env.LANES??3)},async()=>{const c=new pg.Client({...place,ssl:false,pipeline:true,types:{getTypeParser:()=>asIs}} as any); await c.connect(); await c.query("set plan_cache_mode=force_generic_plan; set jit=off; set timezone='UTC'"); return {c,n:0};}));
const q=async(name:string)=>{ let b=lanes[0]!; for(const l of lanes) if(l.n<b.n) b=l; b.n++; try { return (await b.c.query({name,text:sql[name]!,values:[root,uid,uid+"0",51,0],rowMode:"array"} as any)).rows; } finally { b.n--; } };
const body=Buffer.from(res);
const handlers:Record<string,()=>Promise<string|Buffer>>={
  memBuffer: async()=>body, memString: async()=>res,
  ...Object.fromEntries(Object.keys(sql).map(k=>[k, async()=>{ await q(k); return res; }])),
};
const http=createServer(async(req,resp)=>{ const b=await handlers[req.url!.slice(1)]!(); resp.writeHead(200,["content-type","application/json","content-length",String(Buffer.byteLength(b as any))]); resp.end(b); }).listen(18998);
const secs=Number(process.env.SECS??3);
const vars=(s:string)=>Object.fromEntries([root,uid,uid+"0","51","0"].map((v,i)=>[`p${i+1}`,v]).filter(([k])=>s.includes(`:${k}`)));
import { writeFileSync } from "node:fs";
for (const k of (process.argv[2]??Object.keys(handlers).join(",")).split(",")) {
  const u="http://127.0.0.1:18998/"+k; await wrk(u,{},1);
  const c0=process.cpuUsage(), t0=performance.now(); const rate=await wrk(u,{},secs); const c=process.cpuUsage(c0); const dt=performance.now()-t0;
  let pgb=""; if (sql[k]) { const text=sql[k]!.replace(/\$(\d)/g,":p$1"); writeFileSync(`/tmp/lab/f-${k}.sql`,text+";\n"); const pr=await pgbench(place,`/tmp/lab/f-${k}.sql`,vars(text),secs); pgb=`pgbench ${pr.toFixed(0)}`; }
  console.log(k.padEnd(12), rate.toFixed(0).padStart(7)+"/s", `node ${((c.user+c.system)/rate/secs).toFixed(0)}us (user ${(c.user/rate/secs).toFixed(0)}) ${((c.user+c.system)/dt/10).toFixed(0)}%`, pgb);
}
await open.close(); await server.stop(); process.exit(0);
