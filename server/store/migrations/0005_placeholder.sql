-- compatible

select 1;
