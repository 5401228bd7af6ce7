"""The style sheet of a report: light and dark, wide, narrow and on paper.

Colours are Okabe and Ito's, as in the course, lighter on a dark ground; each has a line of its own.
"""

STYLE = """
.mialib-audit{--ground:#fff;--ink:#1b1b1b;--faint:#5c5c5c;--rule:#dcdcdc;--soft:#f4f4f2;
--member:#0072b2;--other:#d55e00;--c0:#00795a;--c1:#a8457d;--c2:#a86f00;--c3:#2a7fb8;--alarm:#b3261e;
background:var(--ground);color:var(--ink);max-width:56rem;margin:0 auto;padding:1rem;
font:1rem/1.5 system-ui,sans-serif;overflow-wrap:anywhere}
@media (prefers-color-scheme:dark){body:has(>.mialib-audit){background:#161616}
.mialib-audit{--ground:#161616;--ink:#e8e8e6;--faint:#a9a9a4;--rule:#3a3a3a;--soft:#222;
--member:#56b4e9;--other:#f08a4b;--c0:#2fc49a;--c1:#e59ac4;--c2:#e6ac33;--c3:#7cc4ee;--alarm:#ff8a80}}
.mialib-audit h1{font-size:1.7rem;line-height:1.2;margin:.5rem 0}
.mialib-audit h2{font-size:1.25rem;margin:2rem 0 .4rem;padding-top:.8rem;
border-top:1px solid var(--rule)}
.mialib-audit h3{font-size:1rem;margin:1rem 0 .2rem}
.mialib-audit p,.mialib-audit ul{max-width:44rem;margin:.5rem 0}
.mialib-audit ul{padding-left:1.2rem}
.mialib-audit small{color:var(--faint);font-size:.82em;white-space:nowrap}
.mialib-audit .aside{border:2px solid var(--alarm);border-left-width:.6rem;padding:.6rem .8rem}
.mialib-audit dl{margin:.5rem 0}
.mialib-audit dl div{display:grid;grid-template-columns:14rem 1fr;gap:.8rem;padding:.2rem 0}
.mialib-audit dt{color:var(--faint)}.mialib-audit dd{margin:0;max-width:40rem}
.mialib-audit table{border-collapse:collapse;width:100%;font-size:.9rem;margin:.6rem 0;
font-variant-numeric:tabular-nums;background:none;color:inherit}
.mialib-audit th,.mialib-audit td{text-align:left;vertical-align:top;padding:.35rem .5rem .35rem 0;
border-bottom:1px solid var(--rule);background:none}
.mialib-audit thead th{color:var(--faint);font-weight:600;overflow-wrap:normal}
.mialib-audit table:not(.wide){max-width:36rem}
.mialib-audit tbody th{font-weight:600}
.mialib-audit th small{display:block;font-weight:400;white-space:normal;max-width:14rem}
.mialib-audit td small{display:block}
.mialib-audit figure{margin:1rem 0;max-width:34rem}
.mialib-audit figcaption{color:var(--faint);font-size:.9rem}
.mialib-audit svg{display:block;width:100%;height:auto;font:12.5px system-ui,sans-serif}
.mialib-audit svg.sample{display:inline-block;width:28px;height:12px;margin-right:.5rem}
.mialib-audit ul.legend{list-style:none;padding:0;margin:.3rem 0;color:var(--ink)}
.mialib-audit text{fill:var(--ink)}
.mialib-audit text.on-dark{fill:var(--ground)}
.mialib-audit .grid{stroke:var(--rule);stroke-width:1}
.mialib-audit .axis{stroke:var(--ink);stroke-width:1}
.mialib-audit .curve{fill:none;stroke-width:2.2}
.mialib-audit .c0{stroke:var(--c0)}
.mialib-audit .c1{stroke:var(--c1);stroke-dasharray:7 3}
.mialib-audit .c2{stroke:var(--c2);stroke-dasharray:8 3 2 3}
.mialib-audit .c3{stroke:var(--c3);stroke-dasharray:3 3}
.mialib-audit .band{fill:var(--c0);fill-opacity:.22;stroke:none}
.mialib-audit .null{fill:var(--faint);fill-opacity:.25;stroke:none}
.mialib-audit .chance{fill:none;stroke:var(--faint);stroke-width:1.5;stroke-dasharray:1.5 4}
.mialib-audit .ceiling{fill:none;stroke:var(--alarm);stroke-width:2}
.mialib-audit .forbidden{fill:var(--alarm);fill-opacity:.12}
.mialib-audit rect.member{fill:var(--member)}
.mialib-audit rect.non-member{fill:var(--other)}
.mialib-audit rect.cell{fill:var(--member)}
.mialib-audit rect.cell.none{fill:none;stroke:var(--rule)}
.mialib-audit .threshold{margin:1rem 0}
.mialib-audit .threshold>input{position:absolute;opacity:0}
.mialib-audit .threshold>label{display:inline-block;border:1px solid var(--faint);
border-radius:.3rem;padding:.15rem .6rem;margin:0 .3rem .3rem 0;cursor:pointer}
.mialib-audit .threshold>input:checked+label{background:var(--ink);color:var(--ground)}
.mialib-audit .threshold>input:focus-visible+label{outline:3px solid var(--member)}
.mialib-audit .threshold .mark{display:none;stroke:var(--ink);stroke-width:2}
.mialib-audit .threshold .told{display:none;min-height:4.5em}
.mialib-audit summary:focus-visible{outline:3px solid var(--member)}
@media (min-width:54rem),print{
.mialib-audit .pair{display:grid;grid-template-columns:1fr 1fr;gap:1.5rem;align-items:start}}
.mialib-audit .pair h3:first-child,.mialib-audit .pair figure:first-child{margin-top:.3rem}
@media (max-width:42rem){
.mialib-audit dl div{display:block}
.mialib-audit table.wide thead{position:absolute;left:-9999px}
.mialib-audit table.wide tr{display:block;padding:.5rem 0;border-bottom:1px solid var(--rule)}
.mialib-audit table.wide th,.mialib-audit table.wide td{display:flex;justify-content:space-between;
gap:1rem;border:0;padding:.1rem 0}
.mialib-audit table.wide th{display:block}
.mialib-audit table.wide td small{display:inline}
.mialib-audit table.wide td::before{content:attr(data-label);color:var(--faint)}
.mialib-audit table.wide td span{text-align:right}}
@media print{.mialib-audit{--ground:#fff;--ink:#000;--faint:#444;--rule:#bbb;--member:#0072b2;
--other:#d55e00;--c0:#00795a;--c1:#a8457d;--c2:#a86f00;--c3:#2a7fb8;--alarm:#b3261e;
font-size:8.5pt;line-height:1.35;max-width:none;padding:0;print-color-adjust:exact;-webkit-print-color-adjust:exact}
.mialib-audit h2{break-after:avoid;margin-top:.7rem;padding-top:.4rem}
.mialib-audit td,.mialib-audit th{padding:.15rem .4rem .15rem 0;font-size:8pt}
.mialib-audit figure,.mialib-audit tr{break-inside:avoid}
.mialib-audit figure{max-width:11cm}}
"""


def position_style(number: int) -> str:
    """The rules that show the line and the sentence of the chosen threshold."""
    scope = ".mialib-audit .threshold"
    rules = [
        f"{scope} #at{k}:checked~figure .t{k}{{display:inline}}"
        f"{scope} #at{k}:checked~.t{k}{{display:block}}"
        for k in range(number)
    ]
    return "".join(rules)
