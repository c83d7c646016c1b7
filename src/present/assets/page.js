// SPDX-License-Identifier: Apache-2.0
for(const table of document.querySelectorAll('table')){
 const body=table.tBodies[0],first=[...body.rows];
 [...table.tHead.rows[0].cells].forEach((head,column)=>head.addEventListener('click',()=>{
  const down=head.getAttribute('aria-sort')!=='descending';
  for(const other of head.parentNode.cells)other.removeAttribute('aria-sort');
  head.setAttribute('aria-sort',down?'descending':'ascending');
  const key=row=>{const cell=row.cells[column],v=cell.dataset.v;return v===undefined?cell.textContent:+v};
  const empty=row=>row.cells[column].textContent==='';
  const rows=first.slice().sort((a,b)=>{
   if(empty(a)||empty(b))return empty(a)-empty(b);
   const x=key(a),y=key(b),both=typeof x==='number'&&typeof y==='number';
   const order=both?x-y:String(x).localeCompare(String(y));
   return down?-order:order});
  body.append(...rows)}));
}
for(const find of document.querySelectorAll('input[type=search]'))
 find.addEventListener('input',()=>{const text=find.value.toLowerCase();
  for(const row of document.querySelectorAll('#'+find.dataset.table+' tbody tr'))
   row.hidden=!row.textContent.toLowerCase().includes(text)});
