import {PerfDataReader} from "@perfdata/format"; import {openSource} from "@perfdata/format/file_source"; import {deliverInOrder} from "@perfdata/session";
const r=await PerfDataReader.open(openSource(Deno.args[0]),{diagnostics:console.log});
let n=0,rounds=0,types:Record<number,number>={};let sizes=0;
const t=performance.now();
const s=await deliverInOrder(r,{record(at,start,end){n++; const t=at.view.getInt32(start,true); if(t===68)rounds++; sizes+=end-start;}},{order:(Deno.args[1]??"time") as any});
console.log(Deno.args[0],n,rounds,s,sizes/n,performance.now()-t);
